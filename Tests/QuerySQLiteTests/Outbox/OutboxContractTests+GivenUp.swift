import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// How a mutation is given up.
enum GivingUp: CaseIterable {
  case cancelled, discarded
}

extension OutboxContractTests {
  /// A program that gives it up need not have its code, and its server may have carried it out.
  @Test(arguments: StorageUnderTest.withOutbox, GivingUp.allCases)
  func whatMayHaveBeenDoneMakesItsQueriesStaleWhenItIsGivenUp(
    _ kind: StorageUnderTest, _ end: GivingUp
  ) async throws {
    for maybeApplied in [false, true] {
      let trial = try OutboxTrial(kind)
      let (edited, other) = (StoredQuery(["edited"]) { 1 }, StoredQuery(["other"]) { 1 })
      do {
        let client = QueryClient(storage: trial.storage)
        client.store(for: edited.persisted()).currentValue = 1
        client.store(for: other.persisted()).currentValue = 1
        try await trial.storage.flush()
      }
      let paths = EditedPaths(text: try QueryIdentity(path: edited.path).text)
      let id = try await trial.add { $0.editedPaths = paths }
      let next: FailedAttempt.Next = end == .discarded ? .dead(.rejected) : .now
      try await trial.run(id, .failure(next, maybeApplied: maybeApplied))
      switch end {
      case .cancelled: #expect(try await trial.outbox.cancel(id))
      case .discarded: try await trial.outbox.discard(id)
      }
      // The next job comes after the cache was told, and the flush after it has invalidated.
      try await trial.add()
      try await trial.storage.flush()
      let client = QueryClient(storage: trial.storage)
      #expect(client.store(for: edited.persisted()).isInvalidated == maybeApplied)
      #expect(!client.store(for: other.persisted()).isInvalidated)
    }
  }
}
