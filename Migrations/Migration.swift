/// One step of a database's schema. Once released it never changes: a new step is added instead.
public struct Migration: Sendable {
  /// The name of the file with the SQL, without its suffix.
  public let name: String

  /// The SQL, UTF-8, any number of statements. It runs in one transaction.
  public let sql: [UInt8]

  /// Creates a migration.
  ///
  /// - Parameters:
  ///   - name: The name of the file with the SQL, without its suffix.
  ///   - sql: The SQL, UTF-8.
  public init(name: String, sql: [UInt8]) {
    self.name = name
    self.sql = sql
  }
}

// MARK: - The order

extension Migration {
  /// The steps of `cache.sqlite`, in order: the level of a database is how many it has.
  public static let cache = [
    Migration(name: "cache-0001-entries", sql: PackageResources.cache_0001_entries_sql)
  ]

  /// The steps of `mutations.sqlite`, in order: the level of a database is how many it has.
  public static let mutations = [
    Migration(name: "mutations-0001-outbox", sql: PackageResources.mutations_0001_outbox_sql)
  ]
}
