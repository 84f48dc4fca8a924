/// A request that can be made from data. As a member of a pack, it is fetched by a later launch without the
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
/// It is coded as JSON, and its properties must be all that its fetch needs. What comes from its context,
/// such as credentials, comes from the client of the later launch. A request wrapped in modifiers is not
/// packable: declare the modifiers in ``QueryRequest/setup(context:)``.
public protocol PackableRequest: QueryRequest, Codable {
  /// The name of the type in a pack, which must stay the same if the type is renamed. No two types may share
  /// a name, nor may two specialisations of a generic type.
  static var packName: String { get }

  /// Whether its data are all that it consists of; true by default. If false, as for a request that has a
  /// closure, a later launch fetches it only when its list is kept again.
  var isPackable: Bool { get }
}

extension PackableRequest {
  public var isPackable: Bool { true }

  /// The request as data; nil if it does not consist of data alone.
  ///
  /// - Throws: What encoding it throws.
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
