/// Rows of one part of the library.
struct RowGroup: Sendable {
  let title: String
  let rows: [Row]

  static let all = [Self.engine]

  static let engine = RowGroup(
    title: "Engine",
    rows: FetchRows.all + DeduplicationRows.all + StoreLookupRows.all + NewStoreRows.all
      + StoreMemoryRows.all + CurrentValueRows.all + ContextRows.all + MatchingRows.all
      + PageRows.all + MutationRows.all
  )
}
