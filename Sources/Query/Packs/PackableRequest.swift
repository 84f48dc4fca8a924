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
}

extension PackableRequest {
  /// The request as data.
  ///
  /// - Throws: What its coding throws.
  var packed: PackedRequest {
    get throws {
      PackedRequest(name: Self.packName, data: try JSONQueryCoder().encode(self))
    }
  }
}
