import Foundation
import Query
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

/// The storages that the contract suite runs against.
enum StorageUnderTest: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory
  case sqlite

  /// Those that keep files, for what only files can have.
  static let onDisk = StorageUnderTest.allCases.filter { $0 == .sqlite }

  var testDescription: String { self.rawValue }
}

/// A device on which an application is launched again and again, all launches with one storage.
///
/// ```swift
/// let device = try Device(kind)
/// try await device.run { client in try await client.store(for: query).fetch() }
/// let store = device.client().store(for: query)  // the next launch
/// ```
final class Device: Sendable {
  /// The clock of all contexts. Its date has more digits than microseconds have.
  let clock = TestClock(Date(timeIntervalSince1970: 1_700_000_000.123_456_78))

  /// The folder of the storages on disk.
  let folder: TemporaryFolder

  private let kind: StorageUnderTest
  private let settings: Settings
  private let current: Locked<any QueryStorage>

  /// What a test wants otherwise than a program does.
  struct Settings: Sendable {
    /// Values with more coded bytes than this are decoded late.
    var synchronousHydrationLimit = 1 << 20
    /// Which account the storage is for; storages on disk have several.
    var partition = ""
    /// Values with more coded bytes than this are not stored, if the storage has such a limit.
    var maximumValueBytes = 32 << 20
    /// Whether stores take what other processes write.
    var followsOtherProcesses = false
  }

  /// A device on which the application was never launched.
  ///
  /// - Parameters:
  ///   - kind: Which storage it uses.
  ///   - settings: What the test wants otherwise.
  ///   - folder: The files of another device, which this one shares.
  init(
    _ kind: StorageUnderTest,
    _ settings: Settings = Settings(),
    folder: TemporaryFolder? = nil
  ) throws {
    let folder = try folder ?? TemporaryFolder()
    self.kind = kind
    self.settings = settings
    self.folder = folder
    self.current = Locked(try kind.makeStorage(in: folder, settings))
  }

  /// The storage of the launch at hand.
  var storage: any QueryStorage { self.current.withLock { $0 } }

  /// A context with the storage and the clock.
  var context: QueryContext {
    var context = QueryContext()
    context.queryStorage = self.storage
    context.queryClock = self.clock
    return context
  }

  /// A client of the launch at hand.
  func client() -> QueryClient {
    var context = QueryContext()
    context.queryClock = self.clock
    return QueryClient(storage: self.storage, defaultContext: context)
  }

  /// Ends the launch as a program does that has time to, and begins the next one.
  func relaunch() async throws {
    switch self.kind {
    case .memory: try await self.storage.flush()
    case .sqlite:
      try await self.storage.close()
      let next = try self.kind.makeStorage(in: self.folder, self.settings)
      self.current.withLock { $0 = next }
    }
  }

  /// Runs a launch, and leaves nothing but what is stored.
  ///
  /// - Parameter body: What the application does.
  @discardableResult
  func run<Result>(_ body: (QueryClient) async throws -> Result) async throws -> Result {
    let result = try await body(self.client())
    try await self.relaunch()
    return result
  }
}

extension StorageUnderTest {
  fileprivate func makeStorage(
    in folder: TemporaryFolder,
    _ settings: Device.Settings
  ) throws -> any QueryStorage {
    switch self {
    case .memory:
      return MemoryQueryStorage(synchronousHydrationLimit: settings.synchronousHydrationLimit)
    case .sqlite:
      var configuration = SQLiteQueryStorage.Configuration()
      configuration.synchronousHydrationLimit = settings.synchronousHydrationLimit
      configuration.maximumValueBytes = settings.maximumValueBytes
      configuration.followsOtherProcesses = settings.followsOtherProcesses
      return try SQLiteQueryStorage(
        directory: URL(filePath: folder.path, directoryHint: .isDirectory),
        partition: settings.partition, configuration: configuration)
    }
  }
}

// MARK: - Events

extension QueryStorage {
  /// Does something, and returns the events that it led to, but for commits.
  ///
  /// - Parameter body: What leads to events. All are sent when it returns.
  func events(of body: () async throws -> Void) async throws -> [StorageEvent] {
    let events = self.events
    try await body()
    try await self.flush()
    // The mark: a commit of its own, whose event comes after all others.
    let mark = QueryStore.detached(
      query: StoredQuery(["mark of the events", UUID().uuidString]) { 0 }.persisted(),
      initialValue: nil,
      initialContext: self.contextOfItsOwn)
    mark.currentValue = 1
    try await self.flush()
    var found = [StorageEvent]()
    var hasMissedMark = false
    for await event in events {
      if case .committed = event {
        if hasMissedMark { break }
      } else if case .missed(let identity, .absent) = event,
        identity.text.hasPrefix(#"["mark of the events","#)
      {
        hasMissedMark = true
      } else {
        found.append(event)
      }
    }
    mark.reset()
    try await self.flush()
    return found
  }

  private var contextOfItsOwn: QueryContext {
    var context = QueryContext()
    context.queryStorage = self
    return context
  }
}
