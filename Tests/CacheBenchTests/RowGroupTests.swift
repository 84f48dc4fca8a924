import Testing

@testable import cache_bench

/// The rows of the performance table.
@Suite struct RowGroupTests {
  private let storage = RowGroup.storage(entries: 1_000).rows

  /// `--json` and `Tools/bench-compare` know a row by its name.
  @Test func noTwoRowsHaveOneName() {
    let names = RowGroup.all(entries: 1_000).flatMap(\.rows).map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func eachRowOfTheStorageHasALeanProgramOrSaysWhyNot() {
    for row in self.storage { #expect(row.lean != nil, "\(row.name)") }
    #expect(self.storage.count { $0.lean?.program != nil } >= 30)
  }

  /// What a caller waits for, and what is written, is measured beside a lean program.
  @Test(arguments: [
    "hydrate-store", "hydrate-10000", "open-and-hydrate", "process-first-value", "process-end",
    "memory-resident", "change-flushed", "change-sustained", "new-sustained", "prefetch-prefix",
    "invalidate-prefix", "log-changed-entry", "log-new-entry", "log-100-pages", "log-page-apart",
    "log-confirmed", "mutate-durable", "mutate-durable-steady", "mutate-100-at-once",
    "claim-ready", "replay-1000", "replay-cpu-in-100", "first-write", "edit-launch",
  ])
  func aLeanProgramStandsBeside(_ name: String) {
    let row = self.storage.first { $0.name == name }
    #expect(row?.lean?.program != nil)
  }
}
