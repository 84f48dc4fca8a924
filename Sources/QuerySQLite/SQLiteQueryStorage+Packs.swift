public import Query

extension SQLiteQueryStorage {
  /// The packs of this partition, in `cache.sqlite`.
  public var packs: any PackStorage {
    SQLitePacks(self.database, self.partition, isClosed: self.isClosed)
  }
}
