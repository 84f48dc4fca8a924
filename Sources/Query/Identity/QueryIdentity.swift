import Glibc

/// The key of a stored value: the canonical text of a query's path.
///
/// ```swift
/// let identity = try QueryIdentity(path: ["players", 3])
/// identity.text  // ["players",3]
/// ```
/// The text is a JSON array with an item for each element of the path. Equal paths have equal texts,
/// and a path has the same text in every process that is built from the same modules, on every
/// launch: it contains no hash, no address, and no description that a type gives of itself.
///
/// An element of a custom type is written with the name of the type and what it encodes, or, if it
/// is not `Encodable`, its stored properties. An identity must be given by hand for a type whose
/// `==` ignores something that it stores or encodes, for one whose coding leaves out something that
/// `==` compares, and for one that calls `encode(to:)` of a set itself, instead of handing the set
/// to a container. So must it for two private types of one name in one module, which have one name
/// here too.
public struct QueryIdentity: Hashable, Sendable, CustomStringConvertible {
  /// The canonical text.
  public let text: String

  /// Makes the identity of a path.
  ///
  /// - Parameter path: The path of a query.
  /// - Throws: ``QueryIdentityError`` if an element, or a value in it, has no text that would be
  ///   the same on every launch.
  /// - Complexity: O(*n*) in the length of the text, and O(*n* log *n*) in the number of values of
  ///   each set and dictionary.
  public init(path: QueryPath) throws {
    self.text = try CanonicalWriter.text(of: path, typeNames: .kept)
  }

  /// Makes an identity of a text that is known already, such as one of ``text`` or one that a person
  /// has chosen.
  ///
  /// - Parameter canonicalText: The text, which is neither checked nor changed.
  public init(canonicalText: String) {
    self.text = canonicalText
  }

  /// Makes the identity of a path without the names of the types in it, so that it outlives their
  /// renaming. What tells two values of one type apart is kept.
  ///
  /// - Parameter instancePath: The path of a query.
  /// - Throws: ``QueryIdentityError``, as ``init(path:)`` does.
  init(instancePath: QueryPath) throws {
    self.text = try CanonicalWriter.text(of: instancePath, typeNames: .leftOut)
  }

  /// Makes the identity of the query that has a name on disk: a mark that begins the text of no path,
  /// the path without the names of the types in it, and the name.
  ///
  /// - Parameters:
  ///   - path: The path of the query.
  ///   - name: The name.
  /// - Throws: ``QueryIdentityError``, as ``init(path:)`` does.
  init(path: QueryPath, name: String) throws {
    let beginning = try Self.beginning(ofNamedUnder: path)
    let writer = CanonicalWriter(typeNames: .leftOut)
    writer.append(#",{"as":"#)
    writer.writeString(name)
    writer.append("}]")
    self.text = beginning + String(decoding: writer.bytes, as: UTF8.self)
  }

  /// How the identities of the named queries under a path begin.
  static func beginning(ofNamedUnder path: QueryPath) throws -> String {
    Self.beginning(ofNamedUnder: try QueryIdentity(instancePath: path))
  }

  /// How the identities of the named queries under a path begin, whose text without the names of types
  /// is known.
  static func beginning(ofNamedUnder instance: QueryIdentity) -> String {
    let items = instance.text.unicodeScalars.dropFirst().dropLast()
    return items.isEmpty ? "[{}" : "[{},\(String(items))"
  }

  /// The canonical text.
  public var description: String { self.text }
}

// MARK: - Equality

// By bytes, as a storage compares: two texts that differ in their Unicode normal form alone are two
// identities, or one key in memory would stand for two rows.
extension QueryIdentity {
  public static func == (lhs: Self, rhs: Self) -> Bool {
    var (left, right) = (lhs.text, rhs.text)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        guard let first = left.baseAddress, let second = right.baseAddress else {
          return left.count == right.count
        }
        return left.count == right.count && memcmp(first, second, left.count) == 0
      }
    }
  }

  public func hash(into hasher: inout Hasher) {
    var text = self.text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
