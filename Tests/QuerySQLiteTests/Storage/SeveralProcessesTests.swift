import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Persistence §9: any number of processes have the same files.
@Suite struct SeveralProcessesTests {
  /// How many notes each writer writes, twice.
  private static let count = ProcessInfo.processInfo.environment["FULL"] == nil ? 250 : 2_000

  @Test func eightProcessesWriteAndOneReadsAndNothingIsLost() async throws {
    let folder = try TemporaryFolder()
    let names = (1...8).map { "writer\($0)" }
    let writers = try names.map {
      try WorkerProcess("write", folder.path, $0, "\(Self.count)", "2", "200", "3")
    }
    // One that reads all the time, and is never told "locked".
    let isDone = Locked(false)
    let reader = Task {
      var configuration = SQLiteQueryStorage.Configuration()
      configuration.checkpointFrames = 10
      let storage = try SQLiteQueryStorage(
        directory: URL(filePath: folder.path), configuration: configuration)
      while !isDone.withLock({ $0 }) {
        // Nothing in here need wait, and other tests need the threads.
        await Task.yield()
        let client = QueryClient(storage: storage)
        for name in names {
          let store = client.store(for: TextQuery(writer: name, number: 1).persisted())
          await store.hydrated()
          #expect(store.error == nil)
        }
        #expect(!storage.statistics.isDegraded)
      }
      try await storage.close()
    }
    for (name, writer) in zip(names, writers) {
      let (code, lines) = await writer.finish()
      #expect(code == 0, "\(name)")
      #expect(lines.last == "flushed 2 \(Self.count)", "\(name)")
    }
    isDone.withLock { $0 = true }
    try await reader.value
    try Self.expectAll(names, in: folder.path)
  }

  private static func expectAll(_ names: [String], in folder: String) throws {
    let connection = try DatabaseOpener(kind: .cache, folder: folder).openWriter()
    #expect(try connection.pragma("PRAGMA integrity_check") == "ok")
    let found = try connection.rows(
      "SELECT identity, CAST(value AS TEXT) FROM entries ORDER BY identity"
    ) { (try $0.text(at: 0), try $0.text(at: 1)) }
    #expect(found.count == names.count * Self.count)
    let values = Dictionary(found) { $1 }
    for name in names {
      for number in 1...Self.count {
        let value = try #require(values["[\"notes\",\"\(name)\",\(number)]"])
        #expect(value.contains("\(name)/\(number)/2 "))
      }
    }
    try connection.close()
  }

  /// Persistence §3: the same path has the same identity in every process, on every launch.
  @Test func privateNestedAndGenericTypesHaveTheSameIdentityOnEachLaunch() async throws {
    var launches = [[String]]()
    for _ in 1...3 {
      let (code, lines) = try await WorkerProcess("identities").finish()
      #expect(code == 0)
      launches.append(lines)
    }
    #expect(launches[0].count == 4)
    #expect(launches[0] == launches[1] && launches[1] == launches[2])
    #expect(launches[0].allSatisfy { !$0.contains("unknown context") })
    #expect(launches[0][0].contains("storage_worker.Identities.Secret"))
  }

  @Test func aChangeOfAnotherProcessIsReported() async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    let events = storage.events
    let worker = try WorkerProcess("write", folder.path, "other", "1", "1", "10", "1")
    let expected = StorageEvent.changedByAnotherProcess(
      QueryIdentity(canonicalText: #"["notes","other",1]"#))
    #expect(await events.contains { $0 == expected })
    _ = await worker.finish()
    try await storage.close()
  }

  /// A storage whose stores show what other processes write.
  private static func followingStorage(in folder: TemporaryFolder) throws -> SQLiteQueryStorage {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.followsOtherProcesses = true
    return try SQLiteQueryStorage(
      directory: URL(filePath: folder.path), configuration: configuration)
  }

  @Test func aStoreFollowsAnotherProcessWhereItIsToldTo() async throws {
    let folder = try TemporaryFolder()
    let storage = try Self.followingStorage(in: folder)
    let client = QueryClient(storage: storage)
    // Looking at an empty store makes it fetch, and the fetched value would be the newest.
    let query = TextQuery(writer: "other", number: 1)
      .enableAutomaticFetching(onlyWhen: .always(false))
    let store = client.store(for: query.persisted())
    let states = store.states
    let worker = try WorkerProcess("write", folder.path, "other", "1", "3", "10", "1")
    #expect(await states.contains { $0.state.currentValue?.text.hasPrefix("other/1/3") == true })
    #expect(store.origin != .network && store.origin != .local)
    _ = await worker.finish()
    try await storage.close()
  }

  /// As it does after an invalidation of its own.
  @Test(.timeLimit(.minutes(5)))
  func aStoreThatFollowsFetchesWhatAnotherProcessInvalidates() async throws {
    let folder = try TemporaryFolder()
    let storage = try Self.followingStorage(in: folder)
    let client = QueryClient(storage: storage)
    let query = TextQuery(writer: "other", number: 1).stale(after: 3_600)
    let store = client.store(for: query.persisted())
    try await store.fetch()
    try await storage.flush()
    let states = store.states
    let subscription = store.subscribe(with: QueryEventHandler())
    defer { subscription.cancel() }
    let worker = try WorkerProcess("invalidate", folder.path, "other")
    #expect(await states.contains { $0.state.isInvalidated })
    #expect(
      await states.contains { !$0.state.isInvalidated && $0.state.valueUpdateCount == 2 })
    _ = await worker.finish()
    try await storage.close()
  }

  /// What somebody has entered is no answer of a server that a newer one could outdate.
  @Test(.timeLimit(.minutes(5)))
  func whatIsSetByHandReplacesTheAnswerOfAnotherProcess() async throws {
    let folder = try TemporaryFolder()
    var configuration = SQLiteQueryStorage.Configuration()
    // Nothing is written before it is closed.
    configuration.writeDelay = .seconds(3_600)
    let storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder.path), configuration: configuration)
    let query = StoredQuery(["texts", "other"]) { "" }.persisted()
    QueryClient(storage: storage).store(for: query).currentValue = "entered"
    let worker = try WorkerProcess("refresh", folder.path, "other")
    #expect(await worker.finish().lines == ["fetched"])
    try await storage.close()
    let next = try SQLiteQueryStorage(directory: URL(filePath: folder.path))
    #expect(QueryClient(storage: next).store(for: query).currentValue == "entered")
    try await next.close()
  }

  /// What is on the disk has no parts of a microsecond.
  @Test func anErrorOfAnotherProcessChangesNoDateOfTheValue() async throws {
    let folder = try TemporaryFolder()
    let storage = try Self.followingStorage(in: folder)
    var context = QueryContext()
    context.queryClock = TestClock(Date(timeIntervalSinceReferenceDate: 8e8 + 0.000_000_6))
    let client = QueryClient(storage: storage, defaultContext: context)
    let query = TextQuery(writer: "other", number: 1)
      .enableAutomaticFetching(onlyWhen: .always(false))
    let store = client.store(for: query.persisted())
    try await store.fetch()
    try await storage.flush()
    let date = try #require(store.valueLastUpdatedAt)
    let states = store.states
    let worker = try WorkerProcess("fail", folder.path, "other")
    #expect(await states.contains { $0.state.error != nil })
    #expect(store.valueLastUpdatedAt == date)
    #expect(store.origin == .network)
    _ = await worker.finish()
    try await storage.close()
  }

  private struct TextQuery: QueryRequest, Hashable {
    struct Text: Codable, Sendable {
      var text: String
    }

    let writer: String
    let number: Int

    var path: QueryPath { ["notes", self.writer, self.number] }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Text>
    ) async throws -> Text {
      Text(text: "")
    }
  }
}
