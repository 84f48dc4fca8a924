package import Foundation
package import Query
package import QuerySQLite
import TestSupport
import Testing

/// An outbox on disk as a test of its files wants it.
package struct OutboxScratch {
  package let folder: TemporaryFolder
  package let storage: SQLiteQueryStorage

  package init(
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

  package var outbox: any MutationOutbox { self.storage.outbox }
  package var path: String { "\(self.folder.path)/mutations.sqlite" }

  package static let handler = MutationHandler(
    name: "note", instance: "[]", version: 1, upgradesOlder: false)

  package static func mutation(
    _ text: String = "text", lane: String? = nil, after dependencies: [UUID] = []
  ) -> NewMutation {
    NewMutation(
      name: "note", instance: "[]", lane: lane, dependencies: dependencies, coder: "json",
      arguments: Data(text.utf8))
  }

  @discardableResult
  package func add(
    _ text: String = "text", lane: String? = nil, after dependencies: [UUID] = []
  ) async throws -> UUID {
    try await self.outbox.enqueue(
      Self.mutation(text, lane: lane, after: dependencies), claiming: false
    ).entry.id
  }

  package func claim(_ limit: Int = 1) async throws -> [MutationLease] {
    try await self.outbox.claim(
      ClaimRequest(.lowest(handledBy: [Self.handler]), limit: limit)
    ).leases
  }

  /// Rows of a text, from a connection of its own.
  package func rows(_ sql: String) throws -> [String] {
    try SQLiteConnection(path: self.path).rowsOfText(sql)
  }

  /// A connection whose snapshot is in the way of each checkpoint that would empty the WAL, until it is
  /// closed: what is committed meanwhile stays in the WAL.
  package func readerThatKeepsTheLog() throws -> SQLiteConnection {
    let reader = try SQLiteConnection(path: self.path)
    _ = try reader.rowsOfText("BEGIN")
    _ = try reader.rowsOfText("SELECT count(*) FROM outbox")
    return reader
  }

  /// Runs statements on the file as another program would.
  package func damage(_ sql: SQL) throws {
    let connection = try SQLiteConnection(path: self.path)
    defer { try? connection.close() }
    try connection.write { try connection.execute(sql) }
  }

  package static let success = AttemptOutcome.succeeded(SuccessfulAttempt(result: Data("ok".utf8)))

  package static func failure(_ next: FailedAttempt.Next) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "T", text: "failed"), outcome: "transient",
        isCharged: true, maybeApplied: false, next: next))
  }
}
