import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QuerySQLite

/// Packs on a disk that is full, and in a file that is damaged or gone.
@Suite struct PackFailuresTests {
  @Test func onAFullDiskAPackWaitsAndGoesOnWhenThereIsRoom() async throws {
    let folder = try TemporaryFolder()
    let vfs = FaultVFS()
    let trial = try StorageTrial(in: folder.path, vfs: vfs)
    let client = QueryClient(storage: trial.storage)
    let gate = Gate()
    let queries = (0..<10).map { number in
      StoredQuery(["n", number]) {
        try await gate.pass()
        // More than there is room for in the WAL that has made the schema, once that is checkpointed.
        return String(repeating: "\(number)", count: 400_000)
      }
    }
    let pack = try await client.keep("pack") { for query in queries { query } }
    await gate.arrival()
    vfs.fail([.grow], nth: 1, persistently: true, with: 13)
    gate.open()
    for await update in pack.updates {
      if case .waiting(.storage(let error)) = update.state {
        #expect(error.code == .full)
        break
      }
    }
    #expect(pack.progress.done == 0)
    // A small write may find room in a WAL that was checkpointed.
    vfs.fail([.grow, .write], nth: 1, persistently: true, with: 13)
    let failure = await #expect(throws: StorageError.self) {
      try await client.keep("more") { StoredQuery(["more"]) { 1 } }
    }
    #expect(failure?.code == .full)
    vfs.disarm()
    try await pack.whole()
    // What was fetched on the full disk was not fetched again.
    #expect(queries.allSatisfy { $0.calls.value == 1 })
    await trial.close()
    let next = try StorageTrial(in: folder.path)
    let packs = try await next.storage.packs.packs()
    #expect(packs.map(\.name) == ["pack"])
    #expect(packs.first?.counts.done == 10)
    await next.close()
  }

  @Test func aPackIsGoneWithADamagedFile() async throws {
    let folder = try TemporaryFolder()
    let first = try StorageTrial(in: folder.path)
    let client = QueryClient(storage: first.storage)
    try await client.keep("pack") { StoredQuery(["a"]) { 1 } }.whole()
    await first.close()
    let url = URL(filePath: "\(folder.path)/cache.sqlite")
    var bytes = try Data(contentsOf: url)
    bytes.replaceSubrange(0..<100, with: Data(count: 100))
    try bytes.write(to: url)
    let second = try StorageTrial(in: folder.path)
    let next = QueryClient(storage: second.storage)
    #expect(try await next.packs.resume().isEmpty)
    let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(kept.contains { $0.hasPrefix("cache.sqlite.corrupt-") })
    try await next.keep("pack") { StoredQuery(["a"]) { 1 } }.whole()
    await second.close()
  }

  @Test func aPackIsToldThatItsFileIsGone() async throws {
    let folder = try TemporaryFolder()
    let trial = try StorageTrial(in: folder.path)
    let client = QueryClient(storage: trial.storage)
    let pack = try await client.keep("pack") { StoredQuery(["a"]) { 1 } }
    try await pack.whole()
    for name in ["cache.sqlite", "cache.sqlite-wal", "cache.sqlite-shm"] {
      try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
    }
    trial.set("text", "into the new file")
    _ = await trial.flush()
    for await update in pack.updates where update.state == .stopped(.gone(pack: "pack")) { break }
    await #expect(throws: PackError.gone(pack: "pack")) { try await pack.whole() }
    #expect(try await client.packs.list().isEmpty)
    await trial.close()
  }

  /// A member whose entry was lost is not there, whatever its row says.
  @Test func whatIsLostIsFetchedAgainByResuming() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let client = QueryClient(storage: storage)
    let queries = (0..<3).map { number in StoredQuery(["n", number]) { number } }
    let pack = try await client.keep("pack") { for query in queries { query } }
    try await pack.whole()
    client.store(for: queries[1].persisted()).reset()
    try await storage.flush()
    try await client.packs.resume()
    try await pack.whole()
    #expect(queries.map(\.calls.value) == [1, 2, 1])
    #expect(try scratch.rows("SELECT count(*) FROM entries") == ["3"])
    try await storage.close()
  }

  /// A store in memory is no value on the disk.
  @Test func whatAnotherProcessHasRemovedIsFetchedThoughAStoreHasIt() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let client = QueryClient(storage: storage)
    let (query, pages) = (StoredQuery(["a"]) { 1 }, StoredPages())
    let store = client.store(for: query.stale(after: 3_600).persisted())
    let list = client.store(for: pages.persisted())
    try await store.fetch()
    for _ in 0..<2 { try await list.fetchNextPage() }
    try await storage.flush()
    let other = try scratch.connection()
    _ = try other.rowsOfText("DELETE FROM entries")
    try other.close()
    let pack = try await client.keep("pack") {
      query.stale(after: 3_600)
      pages.pages(.first(2))
    }
    #expect(try await pack.whole().done == 2)
    #expect(try scratch.rows("SELECT count(*) FROM entries") == ["2"])
    #expect(query.calls.value == 2 && pages.calls.value == 4)
    try await storage.close()
  }

  /// One whose claim has ended may learn late that another process fetches the member.
  @Test func whatAnotherProcessHasClaimedIsNotSettled() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let identity = try QueryIdentity(path: ["a"])
    let pack = try await storage.packs.keep(
      NewPack(name: "pack", createdAt: Date(), members: [NewPack.Member(identity: identity)]))
    let other = try scratch.connection()
    _ = try other.rowsOfText("UPDATE pack_members SET claimed_by = 'another', claimed_at = 0")
    try other.close()
    let result = PackResult(identity: identity, outcome: .failed("late"))
    let standing = try await storage.packs.settle([result], of: pack.id, at: Date())
    #expect(standing?.pack.counts.claimed == 1)
    #expect(standing?.pack.counts.failed == 0)
    try await storage.close()
  }
}
