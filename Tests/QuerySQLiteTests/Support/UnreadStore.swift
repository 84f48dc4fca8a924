@testable import Query

/// A store that nobody reads.
final class UnreadStore: StoredStore {
  let path: QueryPath = ["sample", 1]
  func takeOver(_ entry: StoredEntry, ifChangesAre changeCount: Int) {}
  func handOverAgain() {}
  func stopWriting(beside version: Int) {}
  func takeResetAfterErasing() -> [@Sendable () -> Void] { [] }
}
