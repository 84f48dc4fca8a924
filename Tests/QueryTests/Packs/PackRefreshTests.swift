import TestSupport
import Testing

@testable import Query

/// When a pack that is whole is fetched again.
@Suite(.warningsAreIssues) struct PackRefreshTests {
  /// It waits for the time of its values, and not as long as a pack that looks whether its storage works
  /// again, or another process has died.
  @Test func refreshesThatAreDueComeBeforeTheEndOfALongerPause() async throws {
    let error = StorageError(operation: "write", code: .full, message: "the disk is full")
    let client = QueryClient(storage: MemoryQueryStorage())
    let fetches = Recorder<String>()
    let failing = try await client.keep("failing") {
      BlockQuery(["failing"]) { (_: QueryContext) -> Int in
        fetches.append("failing")
        throw error
      }
    }
    let isPausing = await failing.updates.contains { $0.state == .waiting(.storage(error)) }
    #expect(isPausing)
    let fresh = try await client.keep("fresh", refreshEvery: .seconds(1)) {
      BlockQuery(["fresh"]) { (_: QueryContext) in
        fetches.append("fresh")
        return 1
      }
    }
    try await fresh.whole()
    await fetches.wait(forCount: 3)
    #expect(fetches.elements.prefix(3) == ["failing", "fresh", "fresh"])
    try await fresh.remove()
    try await failing.remove()
  }
}
