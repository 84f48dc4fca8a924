import Foundation
import Query
import TestSupport
import Testing

@testable import QuerySQLite

/// A clock that stands still until a test moves it, and its boot.
final class BootClock: Sendable {
  private let time: Locked<OutboxTime>

  init(wall: Double = 1_700_000_000, boottime: Int = 1_000_000_000, bootID: String = "boot-a") {
    self.time = Locked(
      OutboxTime(
        wall: Date(timeIntervalSince1970: wall), boottime: boottime, monotonic: boottime,
        bootID: bootID, isSynchronised: true))
  }

  var clock: OutboxClock { OutboxClock { [time] in time.withLock { $0 } } }

  func edit(_ body: (inout OutboxTime) -> Void) { self.time.withLock { body(&$0) } }

  /// Moves all clocks.
  func advance(seconds: Int) {
    self.edit { time in
      time.wall += Double(seconds)
      time.boottime += seconds * 1_000_000
      time.monotonic += seconds * 1_000_000
    }
  }
}

/// An outbox on disk as a test of its files wants it.
struct OutboxScratch {
  let folder: TemporaryFolder
  let storage: SQLiteQueryStorage

  init(
    in folder: TemporaryFolder? = nil,
    partition: String = "",
    _ edit: (inout SQLiteQueryStorage.Configuration) -> Void = { _ in }
  ) throws {
    let folder = try folder ?? TemporaryFolder()
    self.folder = folder
    var configuration = SQLiteQueryStorage.Configuration()
    edit(&configuration)
    self.storage = try SQLiteQueryStorage(
      directory: URL(filePath: folder.path), partition: partition, configuration: configuration)
  }

  var outbox: SQLiteOutbox { self.storage.mutations }
  var path: String { "\(self.folder.path)/mutations.sqlite" }

  static let handler = MutationHandler(
    name: "note", instance: "[]", version: 1, upgradesOlder: false)

  static func mutation(
    _ text: String = "text", lane: String? = nil, after dependencies: [UUID] = []
  ) -> NewMutation {
    NewMutation(
      name: "note", instance: "[]", lane: lane, dependencies: dependencies, coder: "json",
      arguments: Data(text.utf8))
  }

  @discardableResult
  func add(
    _ text: String = "text", lane: String? = nil, after dependencies: [UUID] = []
  ) async throws -> UUID {
    try await self.outbox.enqueue(
      Self.mutation(text, lane: lane, after: dependencies), claiming: false
    ).entry.id
  }

  func claim(_ limit: Int = 1) async throws -> [MutationLease] {
    try await self.outbox.claim(
      ClaimRequest(.lowest(handledBy: [Self.handler]), limit: limit)
    ).leases
  }

  /// Rows of a text, from a connection of its own.
  func rows(_ sql: String) throws -> [String] {
    try SQLiteConnection(path: self.path).rowsOfText(sql)
  }

  /// Runs statements on the file as another program would.
  func damage(_ sql: SQL) throws {
    let connection = try SQLiteConnection(path: self.path)
    defer { try? connection.close() }
    try connection.write { try connection.execute(sql) }
  }

  static let success = AttemptOutcome.succeeded(SuccessfulAttempt(result: Data("ok".utf8)))

  static func failure(_ next: FailedAttempt.Next) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "T", text: "failed"), outcome: "transient",
        isCharged: true, maybeApplied: false, next: next))
  }
}
