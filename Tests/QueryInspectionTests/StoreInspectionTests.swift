import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: what an inspector shows is what is stored, and while others write it shows nothing by halves.
@Suite struct StoreInspectionTests {
  private static func store(_ folder: String) throws -> StoreInspection {
    try StoreInspection(directory: URL(filePath: folder))
  }

  private static func texts(
    _ query: EntryQuery, in store: StoreInspection
  ) throws -> [String] {
    var texts = [String]()
    try store.entries(query) { texts.append($0.identity) }
    return texts
  }

  @Test func entriesAreFilteredAndSorted() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    for (name, length) in [("b", 30), ("a", 10), ("c", 20)] {
      try await storage.set([name: String(repeating: "x", count: length)])
    }
    let failing = storage.store("d", fetching: nil)
    _ = try? await failing.fetch()
    storage.invalidate(matching: ["texts", "b"])
    let pages = QueryClient(storage: storage).store(for: StoredPages().persisted())
    _ = try await pages.fetchNextPage()
    try await storage.flush()
    let store = try Self.store(scratch.path)
    func texts(_ edit: (inout EntryQuery) -> Void) throws -> [String] {
      var query = EntryQuery()
      edit(&query)
      return try Self.texts(query, in: store)
    }
    let all = ["[\"pages\"]"] + ["a", "b", "c", "d"].map { "[\"texts\",\"\($0)\"]" }
    #expect(try texts { _ in } == all)
    #expect(try texts { $0.kind = "infinite" } == ["[\"pages\"]"])
    #expect(try texts { $0.matching = "[\"texts\"]" } == Array(all[1...]))
    #expect(try texts { $0.matching = "[\"texts\",\"c" } == [all[3]])
    #expect(try texts { $0.isInvalidated = true } == [all[2]])
    #expect(try texts { $0.isFailed = true } == [all[4]])
    #expect(try texts { ($0.sort, $0.limit) = (.age, 2) } == [all[2], all[1]])
    #expect(try texts { ($0.sort, $0.limit) = (.used, 1) } == [all[1]])
    #expect(try texts { ($0.sort, $0.kind, $0.limit) = (.size, "query", 2) } == [all[4], all[2]])
    #expect(throws: InspectionError.unknownPartition("other", known: [""])) {
      try texts { $0.partition = "other" }
    }
    try await storage.close()
  }

  /// More than are read at once.
  @Test func eachOfManyMutationsIsShownOnce() async throws {
    let scratch = try OutboxScratch()
    for _ in 0..<250 { try await scratch.add() }
    try await scratch.storage.close()
    var numbers = [Int]()
    try Self.store(scratch.folder.path).mutations { numbers.append(Int($0.entry.number)) }
    #expect(numbers == Array(1...250))
  }

  @Test func anEntryIsFoundByItsIdentityAndByTheBeginningOfItsHash() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "text"])
    let store = try Self.store(scratch.path)
    let entry = try store.entry(named: "[\"texts\",\"a\"]")
    #expect(entry.hash.bytes == XXH128(hashing: "[\"texts\",\"a\"]"))
    #expect(entry.hash.description == "\(entry.hash.bytes)")
    for length in [1, 2, 5, 12, 32] {
      let prefix = String(entry.hash.description.prefix(length))
      #expect(try store.entry(named: prefix) == entry)
      #expect(try store.entry(named: prefix.uppercased()) == entry)
    }
    #expect(throws: InspectionError.notFound("entry nothing")) {
      try store.entry(named: "nothing")
    }
    try await storage.set(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0)", "text") }))
    guard case .ambiguous(_, let candidates) = Self.error({ try store.entry(named: "a") }) else {
      Issue.record("41 hashes have several with a beginning")
      return
    }
    #expect(candidates.count > 1)
    try await storage.close()
  }

  @Test func ofManyEntriesThatANameFitsTwentyAreNamed() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    // About fifty hashes for each beginning.
    try await storage.set(Dictionary(uniqueKeysWithValues: (0..<800).map { ("\($0)", "text") }))
    let store = try Self.store(scratch.path)
    for name in ["0", "7", "f"] {
      guard case .ambiguous(name, let candidates) = Self.error({ try store.entry(named: name) })
      else {
        Issue.record("800 hashes have several with a beginning")
        return
      }
      #expect(candidates.count == 20)
    }
    try await storage.close()
  }

  @Test func ofManyMutationsThatANameFitsTwentyAreNamed() async throws {
    let scratch = try OutboxScratch()
    for number in 10..<35 {
      var mutation = OutboxScratch.mutation()
      mutation.id = try #require(UUID(uuidString: "A0000000-0000-4000-8000-0000000000\(number)"))
      _ = try await scratch.outbox.enqueue(mutation, claiming: false)
    }
    let name = "a000"
    let store = try Self.store(scratch.folder.path)
    guard case .ambiguous(name, let candidates) = Self.error({ try store.mutation(named: name) })
    else {
      Issue.record("25 mutations begin alike")
      return
    }
    #expect(candidates.count == 20)
    try await scratch.storage.close()
  }

  private static func error<R>(_ body: () throws -> R) -> InspectionError? {
    do {
      _ = try body()
      return nil
    } catch {
      return error as? InspectionError
    }
  }

  @Test func valuesAndPagesAreThoseThatWereStored() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let large = String(repeating: "large ", count: 1_000)
    try await storage.set(["a": "nul \0", "large": large])
    let pages = QueryClient(storage: storage).store(for: StoredPages().persisted())
    for _ in 0..<3 { _ = try await pages.fetchNextPage() }
    try await storage.flush()
    let store = try Self.store(scratch.path)
    let value = try store.value(named: "[\"texts\",\"a\"]")
    #expect(value.isSound && value.value == Data("\"nul \\u0000\"".utf8))
    #expect(try store.value(named: "[\"texts\",\"large\"]").value == Data("\"\(large)\"".utf8))
    let infinite = try store.value(named: "[\"pages\"]")
    #expect(infinite.isSound && infinite.value == nil)
    #expect(infinite.pages.map(\.index) == [0, 1, 2])
    let texts = try infinite.pages.map {
      String(decoding: try store.value(of: $0, in: infinite.entry), as: UTF8.self)
    }
    #expect(texts == ["\"page 0\"", "\"page 1\"", "\"page 2\""])
    try await storage.close()
  }

  @Test func whileOthersWriteEveryValueIsWhole() async throws {
    let scratch = try StorageScratch()
    let rounds = ProcessInfo.processInfo.environment["FULL"] == "1" ? "2000" : "60"
    let workers = try ["a", "b"].map {
      try WorkerProcess("write", scratch.path, $0, "20", rounds, "4000", "7")
    }
    for worker in workers {
      var lines = worker.lines.makeAsyncIterator()
      while let line = await lines.next(), line != "flushed 1 20" {}
    }
    let ends = workers.map { worker in Task { await worker.finish() } }
    let isOver = Locked(false)
    let waiting = Task {
      for end in ends { #expect(await end.value.code == 0) }
      isOver.withLock { $0 = true }
    }
    var reads = 0
    repeat {
      // A new one each time, so that it opens while they open, checkpoint and close.
      let store = try Self.store(scratch.path)
      var identities = [String]()
      try store.entries(EntryQuery(matching: "[\"notes\"]")) { identities.append($0.identity) }
      #expect(identities.count == 40)
      for identity in identities {
        let value = try store.value(named: identity)
        #expect(value.isSound, "\(identity)")
        reads += 1
      }
      await Task.yield()
    } while !isOver.withLock { $0 }
    await waiting.value
    #expect(reads >= 40)
    var findings = [InspectionFinding]()
    try Self.store(scratch.path).check { findings.append($0) }
    #expect(findings == [])
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func aStoreThatCannotBeWrittenIsRead() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    let worker = try WorkerProcess("write", folder.path, "a", "20", "1000000", "50", "20")
    var lines = worker.lines.makeAsyncIterator()
    while let line = await lines.next(), line != "flushed 1 20" {}
    worker.killNow()
    _ = await worker.waitForEnd()
    try folder.setReadOnly(true)
    let store = try Self.store(folder.path)
    #expect(try Self.texts(EntryQuery(), in: store).count == 20)
    let files = try store.statistics(now: 0).files
    #expect(files.first?.access == "shared", "\(files)")
    var findings = [InspectionFinding]()
    try store.check { findings.append($0) }
    #expect(findings == [])
  }

  @Test(.enabled(if: MountedFolder.isPossible, "only root can mount a file system"))
  func aStoreCanBeWrittenAsLongAsThereIsRoomForABlock() async throws {
    let folder = try MountedFolder(bytes: 4 << 20)
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    try await storage.set(["a": "text"])
    try await storage.close()
    let store = try Self.store(folder.path)
    try folder.fill()
    #expect(!store.canBeWritten)
    var space = statvfs()
    let ballast = "\(folder.path)/ballast"
    var size = try #require(DatabaseFiles.system.size(of: ballast))
    while space.f_bavail == 0 {
      size -= 1
      try #require(truncate(ballast, off_t(size)) == 0 && statvfs(folder.path, &space) == 0)
    }
    #expect(space.f_bavail == 1 && store.canBeWritten)
    try folder.setReadOnly(true)
    #expect(!store.canBeWritten)
  }

  @Test func theStatisticsAddUp() async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text", "b": String(repeating: "x", count: 5_000)])
    try await scratch.add("first")
    let now = Date().microsecondsSince1970
    let statistics = try Self.store(scratch.folder.path).statistics(now: now)
    #expect(statistics.files.map(\.name) == ["cache.sqlite", "mutations.sqlite"])
    #expect(statistics.partitions.map(\.name) == [""])
    let partition = try #require(statistics.partitions.first)
    // What is too long for its row is kept in parts, which are nobody's pages.
    #expect(partition.entries == 2 && partition.pages == 0)
    #expect(partition.mutations == OutboxCounts(pending: 1))
    #expect(statistics.kinds.map(\.name) == ["query"])
    #expect(statistics.kinds.first?.byteCount == partition.byteCount)
    #expect(statistics.ages.map(\.count).reduce(0, +) == 2)
    #expect(statistics.largest.map(\.identity) == ["[\"texts\",\"b\"]", "[\"texts\",\"a\"]"])
    try await scratch.storage.close()
  }

  @Test func packsAreShownAndWhatIsInOneIsNotEvicted() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    let client = QueryClient(storage: storage)
    try await client.keep("area") { StoredQuery(["kept"]) { 1 } }.whole()
    try await storage.set(["other": "text"])
    try await storage.close()
    let store = try Self.store(scratch.path)
    let packs = try store.statistics(now: 0).partitions.flatMap(\.packs)
    #expect(packs.map(\.name) == ["area"])
    #expect(packs.map(\.counts.done) == [1])
    var pinned = [String: Bool]()
    try store.entries(EntryQuery()) { pinned[$0.identity] = $0.isPinned }
    #expect(pinned == [#"["kept"]"#: true, #"["texts","other"]"#: false])
    let maintenance = try StoreMaintenance(directory: URL(filePath: scratch.path))
    #expect(try maintenance.evict(olderThan: .max).entries == 1)
    #expect(try maintenance.evict(toBytes: 0, entries: 0).entries == 0)
    #expect(try Self.texts(EntryQuery(), in: store) == [#"["kept"]"#])
  }

  @Test func mutationsAreShownWithWhatKeepsThem() async throws {
    let scratch = try OutboxScratch()
    let first = try await scratch.add("first", lane: "a")
    let second = try await scratch.add("second", lane: "a")
    let third = try await scratch.add("third", after: [first])
    let store = try Self.store(scratch.folder.path)
    var reasons = [String?]()
    try store.mutations { reasons.append($0.entry.waitReason?.rawValue) }
    #expect(reasons == [nil, "predecessor", "dependency"])
    let detail = try store.mutation(named: "1")
    #expect(detail.mutation.entry.id == first && detail.dependants == [third])
    #expect(try store.mutation(named: third.uuidString).dependencies == [first])
    #expect(
      try store.why(second.uuidString.lowercased()).sentence.contains("before it in its lane"))
    #expect(try store.dependencies().map(\.target) == [1])
    let lease = try #require(try await scratch.claim().first)
    #expect(try store.why("1").sentence.hasPrefix("It runs in process"))
    _ = try await scratch.outbox.settle(lease, OutboxScratch.success)
    var ended = [InspectedHistory]()
    try store.history { ended.append($0) }
    #expect(ended.map(\.entry.id) == [first] && ended.map(\.outcome) == ["succeeded"])
    #expect(try store.why(first.uuidString).sentence == "It has ended: succeeded.")
    try await scratch.storage.close()
  }

  @Test func changesAreTold() async throws {
    let scratch = try OutboxScratch()
    try await scratch.storage.set(["a": "text"])
    let changes = try Self.store(scratch.folder.path).changes()
    func next() throws -> [InspectedChange] {
      while true {
        let found = try changes.next(waiting: .seconds(1))
        if !found.isEmpty { return found }
      }
    }
    try await scratch.storage.set(["b": "text"])
    guard case .entry("", "[\"texts\",\"b\"]", _, _)? = try next().first else {
      Issue.record("an entry was written")
      return
    }
    try await scratch.add()
    let outbox = InspectedChange.outbox(partition: "", pending: 1, leased: 0, dead: 0, ended: 0)
    // It is made before it has a mutation.
    while true {
      let found = try next()
      if found.last == outbox { break }
      #expect(found.first == .file(name: "mutations.sqlite", isThere: true), "\(found)")
    }
    let entry = try Self.store(scratch.folder.path).entry(named: "[\"texts\",\"a\"]")
    try StoreMaintenance(directory: URL(filePath: scratch.folder.path)).remove(entry)
    #expect(try next() == [.removed(partition: "", count: 1)])
    try await scratch.storage.close()
  }

  /// What is handed out may be what removes them: each was read before the first was handed out.
  @Test func entriesThatAreRemovedMeanwhileAreHandedOutAsTheyWere() async throws {
    let scratch = try StorageScratch()
    let storage = try scratch.storage()
    try await storage.set(["a": "text", "b": "text", "c": "text"])
    try await storage.close()
    let maintenance = try StoreMaintenance(directory: URL(filePath: scratch.path))
    let store = try Self.store(scratch.path)
    var texts = [String]()
    let count = try store.entries(EntryQuery()) { entry in
      if texts.isEmpty { _ = try maintenance.evict(toBytes: 0, entries: 0) }
      texts.append(entry.identity)
    }
    #expect(texts == ["a", "b", "c"].map { "[\"texts\",\"\($0)\"]" })
    #expect(count == 3)
    #expect(try Self.texts(EntryQuery(), in: store) == [])
  }

  /// Of so many that not each is kept until it is handed out.
  @Test func eachOfManyKindsIsHandedOutInItsOrder() async throws {
    let scratch = try StorageScratch()
    let names = (100..<400).map { "\($0)" }
    try await scratch.withStorage { storage in
      try await storage.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "text") }))
    }
    let connection = try scratch.connection()
    try connection.write {
      try connection.execute("UPDATE entries SET kind = 'kind of ' || identity")
    }
    try connection.close()
    let store = try Self.store(scratch.path)
    var kinds = [String]()
    try store.entries(EntryQuery()) { kinds.append($0.kind) }
    #expect(kinds == names.map { "kind of [\"texts\",\"\($0)\"]" })
  }
}
