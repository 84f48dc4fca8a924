/// Finds the identities of all paths that begin with another one.
///
/// The text of a path is a JSON array with an item an element, so that `["players",3]` is under
/// `["players"]`: it begins with the same text up to the bracket that closes, and goes on with a comma.
/// That of a query with a name on disk has a mark before the elements, and the name after them:
/// `[{},"players",3,{"as":"player"}]`. The names of types are not in it, so under a path with values of
/// custom types there are, of those, also the ones whose values look alike without them.
package struct IdentityPrefix: Sendable {
  /// The texts without the bracket at their end: of the path, and of the named queries under it.
  private let beginnings: [String]

  /// Whether the only beginning is a whole text.
  private let isWhole: Bool

  /// Makes the prefix of a path.
  ///
  /// - Parameter path: The beginning of the paths. The empty path finds all.
  /// - Throws: ``QueryIdentityError``: then no stored entry is under it.
  package init(path: QueryPath) throws {
    self.init(
      QueryIdentity.withoutEnd(try QueryIdentity(path: path).text),
      named: try QueryIdentity.beginning(ofNamedUnder: path))
  }

  /// Makes the prefix of a path whose text is already known.
  ///
  /// - Parameter identity: The text of the path.
  package init(identity: QueryIdentity) {
    self.init(
      QueryIdentity.withoutEnd(identity.text),
      named: QueryIdentity.beginning(ofNamedUnder: identity))
  }

  private init(_ beginning: String, named: String) {
    // All are under the empty path, and a text with the mark has no other one.
    let isAlone = beginning == "[" || beginning.hasPrefix("[{}")
    self.beginnings = isAlone ? [beginning] : [beginning, named]
    self.isWhole = false
  }

  /// Makes what finds one identity, and none under its path.
  package init(only identity: QueryIdentity) {
    (self.beginnings, self.isWhole) = ([identity.text], true)
  }

  /// Whether an identity is that of such a path. An identity given by hand matches, too, if its
  /// text looks like one.
  package func matches(_ identity: QueryIdentity) -> Bool {
    var text = identity.text
    return text.withUTF8 { self.matches(UnsafeRawBufferPointer($0)) }
  }

  /// Whether a text, UTF-8, is the identity of such a path.
  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    self.beginnings.contains { beginning in
      let beginning = beginning.utf8
      if self.isWhole { return text.elementsEqual(beginning) }
      guard text.count > beginning.count, text.starts(with: beginning) else { return false }
      if beginning.count == 1 { return true }
      let next = text[beginning.count]
      return next == UInt8(ascii: ",") || next == UInt8(ascii: "]")
    }
  }

  /// The texts that match, as ranges of their bytes in ascending order: what an index is asked for.
  package var ranges: [(lower: String, upper: String)] {
    // No text lies between the two.
    if self.isWhole { return self.beginnings.map { (lower: $0, upper: $0 + "\0") } }
    // '\\' follows '[', '-' follows ',' and '^' follows ']'.
    if self.beginnings == ["["] { return [(lower: "[\0", upper: "\\")] }
    // The mark is greater than the first item of every path.
    return self.beginnings.flatMap { beginning in
      [(",", "-"), ("]", "^")].map { lower, upper in
        (lower: beginning + lower, upper: beginning + upper)
      }
    }
  }
}

extension QueryIdentity {
  /// A text without the bracket at its end.
  fileprivate static func withoutEnd(_ text: String) -> String {
    String(text.unicodeScalars.dropLast())
  }

  /// The texts that find what is under a path, by ``IdentityPrefix/init(identity:)``: what is written
  /// down if the path itself cannot be.
  ///
  /// - Throws: ``QueryIdentityError``: then no stored entry is under the path.
  package static func prefixes(of path: QueryPath) throws -> [QueryIdentity] {
    let identity = try QueryIdentity(path: path)
    let instance = try QueryIdentity(instancePath: path)
    // Those with a name are found by the path's own text unless that holds the name of a type.
    if identity == instance { return [identity] }
    let named = QueryIdentity.beginning(ofNamedUnder: instance)
    return [identity, QueryIdentity(canonicalText: named + "]")]
  }
}
