import Foundation
import Query

/// The outbox as the leanest C program would have it: a row for what waits or runs, one for what has ended, and
/// no index. The idempotency key is the row's number, beside a text that is the file's own.
// @unchecked: the rounds of a row run one after another.
final class LeanOutbox: PlainOutbox, @unchecked Sendable {
  private let connection: BareConnection
  private let statements: [Step: BareStatement]
  private var lastNumber: Int64 = 0
  /// The row that is leased again and again.
  private var row: QueuedNote?

  private static let schema = """
    CREATE TABLE IF NOT EXISTS outbox (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT, arguments BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS history (
      number INTEGER PRIMARY KEY, arguments BLOB NOT NULL, result BLOB NOT NULL)
    """

  private enum Step: String, CaseIterable {
    case enqueue = """
      INSERT INTO outbox (number, name, owner, arguments) VALUES (?1, 'save-note', ?2, ?3)
      """
    case lease = "UPDATE outbox SET owner = ?2 WHERE number = ?1"
    case remove = "DELETE FROM outbox WHERE number = ?1"
    case history = "INSERT INTO history (number, arguments, result) VALUES (?1, ?2, ?3)"
    case prune = "DELETE FROM history WHERE number = ?1 - 50"
    case newest = "SELECT arguments FROM outbox ORDER BY number DESC LIMIT ?1"
  }

  /// Opens a new file.
  init(path: String) throws {
    let connection = try BareConnection(path: path, .full)
    try connection.execute(Self.schema)
    self.connection = connection
    self.statements = try connection.prepare(Step.self)
  }

  func enqueueAndSettle(_ notes: [Note], _ coder: JSONQueryCoder) throws {
    let arguments = try notes.map(coder.encode)
    let queued = try self.connection.transaction {
      try arguments.map { try self.enqueue($0, owner: Self.owner) }
    }
    try self.settle(zip(queued, notes).map { ($0, $1) }, coder)
  }

  func queue(_ notes: [Note], _ coder: JSONQueryCoder) throws -> [QueuedNote] {
    try self.connection.transaction {
      try notes.map { try self.enqueue(try coder.encode($0), owner: nil) }
    }
  }

  func leaseAndSettle(_ queued: QueuedNote, _ coder: JSONQueryCoder) throws {
    try self.lease(queued, owner: Self.owner)
    try self.settle([(queued, try coder.decode(Note.self, from: queued.arguments))], coder)
  }

  func newest(_ count: Int) throws -> [Data] {
    let statement = try self.statement(.newest)
    statement.bind(Int64(count), at: 1)
    return try statement.all()
  }

  func lease() throws -> Reading {
    let row =
      try self.row ?? self.connection.transaction { try self.enqueue(Data([0]), owner: nil) }
    self.row = row
    let gauge = Gauge()
    try self.lease(row, owner: Self.owner)
    let reading = gauge.reading()
    try self.lease(row, owner: nil)
    return reading
  }

  // MARK: - Steps

  private func enqueue(_ arguments: Data, owner: String?) throws -> QueuedNote {
    self.lastNumber += 1
    let statement = try self.statement(.enqueue)
    statement.bind(self.lastNumber, at: 1)
    Self.bind(owner, to: statement)
    statement.bind(arguments, at: 3)
    try statement.run()
    return QueuedNote(number: self.lastNumber, arguments: arguments)
  }

  private func lease(_ queued: QueuedNote, owner: String?) throws {
    let statement = try self.statement(.lease)
    statement.bind(queued.number, at: 1)
    Self.bind(owner, to: statement)
    try self.connection.transaction { try statement.run() }
  }

  private func settle(_ notes: [(QueuedNote, Note)], _ coder: JSONQueryCoder) throws {
    let results = try notes.map { try coder.encode($0.1.number) }
    let history = try self.statement(.history)
    try self.connection.transaction {
      for ((queued, _), result) in zip(notes, results) {
        history.bind(queued.number, at: 1)
        history.bind(queued.arguments, at: 2)
        history.bind(result, at: 3)
        try history.run()
        for step in [Step.prune, .remove] {
          let statement = try self.statement(step)
          statement.bind(queued.number, at: 1)
          try statement.run()
        }
      }
    }
  }

  private func statement(_ step: Step) throws -> BareStatement {
    guard let statement = self.statements[step] else {
      throw CheckFailure(description: "no statement: \(step)")
    }
    return statement
  }

  private static func bind(_ owner: String?, to statement: BareStatement) {
    if let owner { statement.bind(owner, at: 2) } else { statement.bindNothing(at: 2) }
  }

  private static let owner = "0b5f2b2c-54a1-4b7e-9f5c-0e0c0f6f1d11"
}
