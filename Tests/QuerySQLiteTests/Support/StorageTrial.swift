import Foundation
import Query
import StorageTestSupport
import TestSupport

@testable import QuerySQLite

/// A storage that is put to the test: on a folder, most often with a disk that fails, and with a client
/// that keeps texts in it.
struct StorageTrial {
  let storage: SQLiteQueryStorage
  let client: QueryClient

  /// What the storage has reported since it was opened.
  let log: EventLog

  /// - Parameters:
  ///   - folder: The folder of the files.
  ///   - vfs: What fails; nil: nothing.
  ///   - partition: The account.
  ///   - context: What the queries find, as a clock.
  ///   - edit: Changes the configuration.
  /// - Throws: `StorageError` if the storage is refused.
  init(
    in folder: String,
    vfs: FaultVFS? = nil,
    partition: String = "",
    context: QueryContext = QueryContext(),
    edit: (inout SQLiteQueryStorage.Configuration) -> Void = { _ in }
  ) throws {
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.vfs = vfs?.name
    configuration.writeDelay = .milliseconds(1)
    configuration.retryDelay = .milliseconds(2)
    edit(&configuration)
    self.storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder), partition: partition, configuration: configuration)
    self.log = EventLog(self.storage.events)
    self.client = QueryClient(storage: self.storage, defaultContext: context)
  }

  /// Returns when the writing thread has made the checkpoints that callers' commits left to it.
  func waitForCheckpoint() async {
    while await withCheckedContinuation({ continuation in
      self.storage.database.thread.perform { continuation.resume(returning: $0.log.isLeft) }
    }) { await Task.yield() }
  }

  /// Copies all of the WAL into the database, which has room for it then.
  func checkpoint() async {
    await withCheckedContinuation { continuation in
      _ = self.storage.database.thread.perform { writer in
        if let connection = writer.connection {
          writer.keepLog { try $0.checkpoint(connection) }
        }
        continuation.resume()
      }
    }
  }

  /// Commits what waits as a caller of `flush()` does, and then as the writing thread does once it is
  /// due.
  func commitAsCallerAndThenOnTheThread() async {
    await withCheckedContinuation { continuation in
      _ = self.storage.database.thread.perform { writer in
        _ = writer.tryCommit()
        try? writer.commitAll()
        continuation.resume()
      }
    }
  }

  /// The store of a text.
  func store(_ name: String) -> QueryStore<NamedText.State> {
    self.client.store(for: NamedText(name: name).persisted())
  }

  /// Hands a text over to be written.
  func set(_ name: String, _ text: String) { self.store(name).currentValue = text }

  /// A text as the next user of the storage finds it.
  func text(_ name: String) async -> String? {
    let store = QueryClient(storage: self.storage).store(for: NamedText(name: name).persisted())
    await store.hydrated()
    return store.currentValue
  }

  /// Commits a mutation.
  func enqueue(_ text: String) async throws -> UUID {
    try await self.storage.outbox.enqueue(OutboxScratch.mutation(text), claiming: false).entry.id
  }

  /// Hands what is left over, and tells whether it was written.
  func flush() async -> StorageError? { await Self.failure { try await self.storage.flush() } }

  /// Lets go of the files, and tells whether all was written.
  @discardableResult
  func close() async -> StorageError? { await Self.failure { try await self.storage.close() } }

  private static func failure(_ body: () async throws -> Void) async -> StorageError? {
    do {
      try await body()
      return nil
    } catch {
      return StorageError(any: error, operation: "test")
    }
  }

  /// Returns when the storage works, by itself.
  func recover() async { if self.storage.statistics.isDegraded { await self.log.recovery() } }

  /// The texts that the next launch finds, on a disk that works.
  static func texts(_ names: [String], in folder: String) async throws -> [String: String] {
    let trial = try StorageTrial(in: folder)
    var texts = [String: String]()
    for name in names { texts[name] = await trial.text(name) }
    await trial.close()
    return texts
  }
}

/// A text that a test keeps.
struct NamedText: QueryRequest, Hashable {
  let name: String

  var path: QueryPath { ["named texts", self.name] }

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    "fetched"
  }
}

/// The events of a storage, in their order.
final class EventLog: Sendable {
  private let recorder = Recorder<StorageEvent>()
  private let task: Task<Void, Never>

  init(_ events: StorageEvents) {
    let recorder = self.recorder
    self.task = Task { for await event in events { recorder.append(event) } }
  }

  deinit { self.task.cancel() }

  var events: [StorageEvent] { self.recorder.elements }

  /// Returns when an event was reported.
  @discardableResult
  func wait(_ isWanted: @escaping @Sendable (StorageEvent) -> Bool) async -> StorageEvent? {
    await self.recorder.wait { $0.contains(where: isWanted) }.first(where: isWanted)
  }

  /// Returns when the storage has said that nothing works, and after that nothing else.
  func degradation() async {
    await self.recorder.wait { $0.last(where: \.isAboutHealth)?.isDegraded == true }
  }

  /// Returns when the storage has said that all works again, and after that nothing else.
  func recovery() async {
    await self.recorder.wait { $0.last(where: \.isAboutHealth) == .recovered }
  }

  /// Returns when the storage has spoken of its health so many times.
  func health(count: Int) async {
    await self.recorder.wait { $0.filter(\.isAboutHealth).count >= count }
  }

  /// What it said of its health: true for degraded, false for recovered.
  var health: [Bool] { self.events.filter(\.isAboutHealth).map(\.isDegraded) }

  /// Whether it never said the same twice, and began with what is wrong.
  var isConsistent: Bool {
    self.health.enumerated().allSatisfy { index, isDegraded in isDegraded == (index % 2 == 0) }
  }
}

extension StorageEvent {
  /// Whether it says that nothing works.
  var isDegraded: Bool { if case .degraded = self { true } else { false } }

  /// Whether it says that a file has another name now.
  var isSetAside: Bool { if case .setAside = self { true } else { false } }

  fileprivate var isAboutHealth: Bool { self.isDegraded || self == .recovered }
}

/// What a test looks for in a folder.
enum FolderContents {
  /// The names of the files that were set aside: `corrupt`, or `level-2`.
  static func setAside(_ reason: String, in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasPrefix("cache.sqlite.\(reason)-") && !$0.hasSuffix("-wal") }.sorted()
  }

  /// Copies all files with a tool: a process that opens and closes a database by hand drops its
  /// locks.
  static func copy(_ source: String, to target: String) throws {
    try ChildProcess.run("/bin/cp", ["-a", "\(source)/.", target])
  }
}
