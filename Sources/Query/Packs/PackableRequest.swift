/// A request that can be made from data: as a member of a pack, a later launch fetches it without the
/// code that listed it.
///
/// ```swift
/// struct PhotoQuery: PackableRequest, Hashable {
///   static let packName = "photo"
///   let id: Int
///   …
/// }
/// client.packs.register(PhotoQuery.self)   // at each launch, before resume()
/// ```
/// It is coded as JSON, and what it is made of must be all that its fetch needs; what its context has,
/// such as credentials, comes from the client of the later launch. A request inside modifiers is not one:
/// declare them in ``QueryRequest/setup(context:)``.
public protocol PackableRequest: QueryRequest, Codable {
  /// The name of the type in a pack, which outlives renamed types. Two types have two names, and so have
  /// two specialisations of a generic one.
  static var packName: String { get }

  /// Whether its data are all that it is made of. true by default; false, as of one that has a closure: a
  /// later launch fetches it when the list is kept again.
  var isPackable: Bool { get }
}

extension PackableRequest {
  public var isPackable: Bool { true }

  /// The request as data; nil if that is not all that it is made of.
  ///
  /// - Throws: What its coding throws.
  var packed: PackedRequest? {
    get throws {
      guard self.isPackable else { return nil }
      return PackedRequest(name: Self.packName, data: try JSONQueryCoder().encode(self))
    }
  }
}

/// The name that a generic request has in a pack.
package enum PackName {
  /// A name of a request's own, and those of its parameters, as identities have them.
  package static func of(_ name: String, _ parameters: Any.Type...) -> String {
    "\(name)<\(parameters.map(QualifiedTypeName.of).joined(separator: ", "))>"
  }
}
