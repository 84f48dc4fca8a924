/// How a read treats the server's caching headers. `no-store` is always obeyed.
public enum HTTPCachePolicy: String, Codable, Hashable, Sendable {
  /// `ETag` and `Last-Modified` are kept with the value, and the next fetch sends them as validators. The
  /// modifiers decide how long the value is fresh.
  case validators
  /// The same, and the value is fresh for as long as the server says: by `max-age` and `Age`, or else by
  /// `Expires`, but by that for a day at most.
  case serverFreshness
  /// Each fetch asks for the whole answer.
  case none
}
