import Foundation
import Glibc
import Query
import QuerySQLite
import TestSupport
import Testing

/// A program whose main function awaits a mutation while a signal handler calls `exit`.
@Suite struct DepartingTests {
  @Test(arguments: ["submit", "once"])
  func anExitWhileTheMainFunctionAwaitsAMutationIsNoCrash(_ way: String) async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, _ in .silence }
    let worker = try ReplayProcess(["depart", folder.path, server.url.absoluteString, way])
    await server.requests.wait(forCount: 1)
    worker.child.send(SIGTERM)
    #expect(await worker.child.end() == .code(0))
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let counts = try storage.outbox.counts
    #expect(counts.pending + counts.leased == 1, "the mutation is kept")
    try await storage.close()
  }
}
