/// What a read makes of what a server says about keeping its answer. `no-store` is always obeyed.
public enum HTTPCachePolicy: String, Codable, Hashable, Sendable {
  /// `ETag` and `Last-Modified` are kept with the value, and the next fetch asks whether they still
  /// hold. How long the value is fresh, the modifiers say.
  case validators
  /// The same, and the value is fresh for as long as the server says: by `max-age` and `Age`, or else
  /// by `Expires`, which counts for a day at most.
  case serverFreshness
  /// Each fetch asks for all of it.
  case none
}
