import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import Testing

struct SQLiteQueryStorageDependenciesTests {
  @Test func eachMutationThatWaitsIsThereWithWhatHasNotSucceeded() async throws {
    let folder = try TemporaryFolder()
    let url = URL(filePath: folder.path, directoryHint: .isDirectory)
    let storage = try SQLiteQueryStorage(directory: url)
    let other = try SQLiteQueryStorage(directory: url, partition: "other")
    func add(
      to storage: SQLiteQueryStorage, after entries: [OutboxEntry] = []
    ) async throws -> OutboxEntry {
      let mutation = NewMutation(
        name: "note", instance: "", dependencies: entries.map(\.id), coder: "json",
        arguments: Data())
      return try await storage.outbox.enqueue(mutation, claiming: false).entry
    }
    #expect(try storage.mutationDependencies() == [:], "there is no file")
    let first = try await add(to: storage)
    let second = try await add(to: storage, after: [first])
    let third = try await add(to: storage, after: [first, second])
    let foreign = try await add(to: other)
    let dependant = try await add(to: other, after: [foreign])
    #expect(
      try storage.mutationDependencies()
        == [second.number: [first.number], third.number: [first.number, second.number]])
    #expect(try other.mutationDependencies() == [dependant.number: [foreign.number]])
    let lease = try #require(
      try await storage.outbox.claim(ClaimRequest(.mutation(first.id))).leases.first)
    let success = AttemptOutcome.succeeded(SuccessfulAttempt(result: nil))
    #expect(try await storage.outbox.settle(lease, success))
    #expect(try storage.mutationDependencies() == [third.number: [second.number]])
    try await other.close()
    try await storage.close()
    #expect(throws: StorageError.self) { try storage.mutationDependencies() }
  }
}
