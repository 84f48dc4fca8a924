import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

extension StorageUnderTest {
  /// Those whose outboxes the contract suite runs against.
  static let withOutbox = StorageUnderTest.allCases
}

/// A clock of an outbox that stands still until the test moves it.
final class OutboxTestClock: Sendable {
  private let time = Locked(
    OutboxTime(
      wall: Date(timeIntervalSince1970: 1_700_000_000), boottime: 1_000_000_000,
      monotonic: 1_000_000_000, bootID: "boot", isSynchronised: true))

  /// What the outbox is given.
  var clock: OutboxClock { OutboxClock { [time] in time.withLock { $0 } } }

  /// What the wall clock shows.
  var wall: Date { self.time.withLock { $0.wall } }

  /// Moves all clocks forward.
  func advance(by duration: Duration) {
    let microseconds = Int(duration.microseconds)
    self.time.withLock { time in
      time.wall += Double(microseconds) / 1_000_000
      time.boottime += microseconds
      time.monotonic += microseconds
    }
  }
}

/// An outbox that is put to the test, the clock that it goes by, and what it told.
final class OutboxTrial: Sendable {
  let clock = OutboxTestClock()
  let storage: any QueryStorage
  let events: Recorder<OutboxEvent>

  private let folder: TemporaryFolder
  private let subscription: QuerySubscription

  /// - Parameters:
  ///   - kind: The kind of storage.
  ///   - limits: How much history it keeps.
  ///   - maximumArgumentBytes: How long arguments may be.
  init(
    _ kind: StorageUnderTest,
    limits: MutationHistoryLimits = MutationHistoryLimits(),
    maximumArgumentBytes: Int = 32 << 20
  ) throws {
    self.folder = try TemporaryFolder()
    let storage = try kind.makeOutboxStorage(
      in: self.folder, limits, maximumArgumentBytes, self.clock.clock)
    self.storage = storage
    let events = Recorder<OutboxEvent>()
    self.events = events
    self.subscription = storage.outbox.subscribe { events.append($0) }
  }

  var outbox: any MutationOutbox { self.storage.outbox }

  // The storage itself removes what refers to a row, so every trial ends with a look at that.
  deinit {
    let path = self.folder.path + "/mutations.sqlite"
    guard FileManager.default.fileExists(atPath: path) else { return }
    do {
      let connection = try SQLiteConnection(path: path)
      let dangling = try connection.pragma("PRAGMA foreign_key_check")
      #expect(dangling == nil, "a row refers to one that is not there")
      try connection.close()
    } catch {
      Issue.record(error)
    }
  }
}

extension StorageUnderTest {
  /// A storage whose outbox goes by a clock of the test.
  func makeOutboxStorage(
    in folder: TemporaryFolder,
    _ limits: MutationHistoryLimits,
    _ maximumArgumentBytes: Int,
    _ clock: OutboxClock
  ) throws -> any QueryStorage {
    switch self {
    case .memory:
      return MemoryQueryStorage(
        historyLimits: limits, maximumArgumentBytes: maximumArgumentBytes, outboxClock: clock)
    case .sqlite:
      var configuration = SQLiteQueryStorage.Configuration()
      configuration.mutationHistory = limits
      configuration.maximumValueBytes = maximumArgumentBytes
      configuration.outboxClock = clock
      return try SQLiteQueryStorage(
        directory: URL(filePath: folder.path, directoryHint: .isDirectory),
        configuration: configuration)
    }
  }
}

// MARK: - What tests do with it

extension OutboxTrial {
  /// Commits a mutation without leasing it.
  ///
  /// - Parameter edit: What it has that others have not.
  @discardableResult
  func add(
    _ name: String = "note",
    lane: String? = nil,
    after dependencies: [UUID] = [],
    edit: (inout NewMutation) -> Void = { _ in }
  ) async throws -> UUID {
    var mutation = NewMutation(
      name: name, instance: "instance", lane: lane, dependencies: dependencies, coder: "json",
      arguments: Data("{}".utf8))
    edit(&mutation)
    return try await self.outbox.enqueue(mutation, claiming: false).entry.id
  }

  /// Leases what may run now, by handlers for everything that ``add(_:lane:after:edit:)`` makes.
  func claim(
    _ names: [String] = ["note"],
    limit: Int = 10,
    slots: HostSlots = HostSlots(others: .max)
  ) async throws -> ClaimAnswer {
    try await self.outbox.claim(
      ClaimRequest(
        .lowest(handledBy: Set(names.map { .handler($0) })), limit: limit, hostSlots: slots))
  }

  /// The identifiers of what may run now, leased.
  func claimed() async throws -> [UUID] { try await self.claim().leases.map(\.entry.id) }

  /// Leases a mutation, which must be able to run now.
  func lease(
    _ id: UUID,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> MutationLease {
    let answer = try await self.outbox.claim(ClaimRequest(.mutation(id)))
    return try #require(answer.leases.first, sourceLocation: sourceLocation)
  }

  /// Leases a mutation and lets its attempt end.
  func run(
    _ id: UUID,
    _ outcome: AttemptOutcome,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let lease = try await self.lease(id, sourceLocation: sourceLocation)
    let isSettled = try await self.outbox.settle(lease, outcome)
    #expect(isSettled, sourceLocation: sourceLocation)
  }

  /// A mutation that is live or dead.
  func entry(
    _ id: UUID,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> OutboxEntry {
    try #require(try self.outbox.entry(id), sourceLocation: sourceLocation)
  }

  /// How a mutation ended; nil if it has not.
  func ending(_ id: UUID) throws -> RecordedMutation? {
    if case .ended(let record) = try self.outbox.standing(of: id) { record } else { nil }
  }

  /// Whether a mutation is next in its lane; nil if it is not pending.
  func isNext(_ id: UUID) throws -> Bool? {
    if case .pending(_, let isNext) = try self.outbox.standing(of: id) { isNext } else { nil }
  }
}

// MARK: - Short forms

extension MutationHandler {
  /// One for what `OutboxTrial` makes.
  static func handler(
    _ name: String,
    version: Int = 1,
    upgradesOlder: Bool = false
  ) -> MutationHandler {
    MutationHandler(
      name: name, instance: "instance", version: version, upgradesOlder: upgradesOlder)
  }
}

extension AttemptOutcome {
  /// A success without a result.
  static let success = AttemptOutcome.succeeded(SuccessfulAttempt(result: nil))

  /// A success that has published an alias.
  static func success(publishing alias: String, _ value: String) -> AttemptOutcome {
    .succeeded(SuccessfulAttempt(result: nil, aliases: [alias: value]))
  }

  /// A failure.
  static func failure(
    _ next: FailedAttempt.Next,
    _ outcome: String = "transient",
    code: Int? = 503,
    isCharged: Bool = true,
    maybeApplied: Bool = false
  ) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "Test.Failure", text: "it failed"), code: code,
        outcome: outcome, isCharged: isCharged, maybeApplied: maybeApplied, next: next))
  }

  /// A failure for good.
  static let rejection = AttemptOutcome.failure(.dead(.rejected), "permanent", code: 400)

  /// A failed connection.
  static func noConnection(_ wait: Duration) -> AttemptOutcome {
    .failure(.wait(.backoff, wait), "connectivity", code: -1_004, isCharged: false)
  }
}

extension RecordedMutation {
  /// How it ended; nil if it has not.
  var outcome: Outcome? { if case .ended(let outcome) = self.state { outcome } else { nil } }
}
