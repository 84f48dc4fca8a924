/// Rows of one part of the library.
struct RowGroup: Sendable {
  let title: String
  let rows: [Row]

  /// All groups.
  ///
  /// - Parameter entries: How many entries are on disk, if a storage is measured.
  static func all(entries: Int) -> [RowGroup] { [Self.engine, Self.storage(entries: entries)] }

  static let engine = RowGroup(
    title: "Engine",
    rows: FetchRows.all + DeduplicationRows.all + StoreLookupRows.all + NewStoreRows.all
      + StoreMemoryRows.all + CurrentValueRows.all + ContextRows.all + MatchingRows.all
      + PageRows.all + MutationRows.all + LeavingRows.all + ChainRows.all + PeriodicRows.all
  )

  static func storage(entries: Int) -> RowGroup {
    let corpus = Corpus(count: entries)
    return RowGroup(
      title: "Storage",
      rows: HydrationRows.all(corpus) + BesideWriterRows.all(Corpus(count: entries / 10))
        + OpeningRows.all(corpus) + ToolRows.all(corpus) + ChangeRows.all(corpus)
        + PrefixRows.all(corpus) + EvictionRows.all(corpus)
        + LogRows.all(corpus) + ConfirmationRows.all(corpus) + DurableRows.all(pending: entries)
        + ShownRows.all + QueueRows.all(pending: entries) + ReplayCostRows.all(pending: entries)
        + OutboxEventRows.all(pending: entries)
        + LockRows.all(corpus, live: entries / 10) + IdleRows.all
    )
  }
}
