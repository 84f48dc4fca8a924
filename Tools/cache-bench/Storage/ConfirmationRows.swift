import Foundation
import Query
import QuerySQLite

/// Values that a server confirms, or changes by an event, beside the request that they need in any case.
enum ConfirmationRows {
  static func all(_ corpus: Corpus) -> [Row] {
    [
      Self.caller(corpus), Self.log(corpus, batch: 1), Self.log(corpus, batch: 100),
      Self.event(corpus),
    ]
  }

  private static func caller(_ corpus: Corpus) -> Row {
    Row(
      name: "confirmed-caller",
      title: "a 304 beside the request: validator read, value kept",
      goal: .above(3_000),
      floor: "a fetch that brings the value, of a store that is not persisted",
      lean: .absent("nothing is written on the caller's thread"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      let notes = shelf.nextNumbers(50).map { Note($0, edition: 0) }
      let stores = notes.map { shelf.client.store(for: ConfirmedNote(note: $0).persisted()) }
      let client = QueryClient.withoutObservers()
      let plain = notes.map { client.store(for: ConfirmedNote(note: $0)) }
      for store in stores { try await store.fetch() }
      try await shelf.storage.flush()
      return Trial(
        counting: {
          let reading = try await Self.fetch(5, stores)
          try await shelf.storage.flush()
          return reading
        },
        floor: { try await Self.fetch(5, plain) },
        end: { try await shelf.close() }
      )
    }
  }

  /// One frame alone, with what a page that becomes full adds now and then; 200 bytes among a hundred.
  private static func log(_ corpus: Corpus, batch: Int) -> Row {
    Row(
      name: batch == 1 ? "log-confirmed" : "log-confirmed-\(batch)",
      title: "bytes appended to the WAL, a 304 "
        + (batch == 1 ? "alone" : "in a commit of \(batch)"),
      goal: .atMost(batch == 1 ? 4_700 : 200),
      floor: "C update of its date and revision"
        + (batch == 1 ? "" : ", \(batch) in one transaction"),
      lean: .program("C update of a date"),
      unit: .bytes
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.confirm(shelf.nextNumbers(100), shelf, batch) },
        floor: { try Self.touch(shelf, .floor, batch) },
        lean: { try Self.touch(shelf, .lean, batch) },
        // Of new entries each: a cache confirms 500 apart from their rows.
        mostRounds: 3,
        end: { try await shelf.close() }
      )
    }
  }

  private static func event(_ corpus: Corpus) -> Row {
    Row(
      name: "event-stored",
      title: "an event until its value and id are on disk and told, beside the commit",
      goal: .above(2_000_000),
      floor: "C upsert in its own transaction",
      lean: .program("the same of a row with one index"),
      unit: .nanoseconds
    ) {
      let shelf = try await Shelf(corpus, .writing)
      return Trial(
        counting: { try await Self.events(50, shelf) },
        floor: { try shelf.writeOneByOne(50, by: .floor) },
        lean: { try shelf.writeOneByOne(50, by: .lean) },
        end: { try await shelf.close() }
      )
    }
  }
}

/// What a read of HTTP keeps beside its value.
private struct Validator: Codable, Hashable {
  var e: String
  var u: UInt64
}

/// A note whose server knows it again.
private struct ConfirmedNote: QueryRequest {
  let note: Note

  var path: QueryPath { NoteQuery(number: self.note.number).path }

  private static let validator = Validator(e: "\"5f3a-1\"", u: 0x9e37_79b9_7f4a_7c15)
  private static let metadata = try? JSONEncoder().encode(Self.validator)

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<Note>
  ) async throws -> Note {
    if let metadata = context.storedValue?.metadata,
      try JSONDecoder().decode(Validator.self, from: metadata) == Self.validator
    {
      return try continuation.unchanged()
    }
    return continuation.returning(self.note, metadata: Self.metadata)
  }
}

/// Takes the place of a stream: it sets what the test says, with the id of an event.
private final class EventSource: QueryController, Sendable {
  typealias State = NoteQuery.State

  private let controls = Locked<QueryControls<State>?>(nil)

  func control(with controls: QueryControls<State>) -> QuerySubscription {
    self.controls.withLock { $0 = controls }
    return .empty
  }

  /// Sets a value as the event of a live query does.
  func send(_ note: Note, id: String) throws {
    guard let controls = self.controls.withLock({ $0 }), let known = controls.storedValue,
      known.value(as: Note.self) != nil
    else { throw CheckFailure(description: "there is no value to change") }
    let metadata = try JSONEncoder().encode(["event": id])
    try expect(
      controls.yield(note, metadata: metadata, replacing: known), true, "the value of an event")
  }
}

// MARK: - Rounds

extension ConfirmationRows {
  @concurrent
  private static func fetch(_ count: Int, _ stores: [NoteStore]) async throws -> Reading {
    let before = stores.map(\.valueUpdateCount)
    let gauge = Gauge()
    for _ in 0..<count { for store in stores { _ = try await store.fetch() } }
    let reading = gauge.reading(per: count * stores.count)
    try expect(stores.map(\.valueUpdateCount), before.map { $0 + count }, "the updates")
    return reading
  }

  @concurrent
  private static func confirm(
    _ numbers: [Int], _ shelf: Shelf, _ batch: Int
  ) async throws -> Reading {
    let stores = numbers.map {
      shelf.client.store(for: ConfirmedNote(note: Note($0, edition: 0)).persisted())
    }
    for store in stores { try await store.fetch() }
    try await shelf.storage.flush()
    let before = shelf.storage.statistics
    let counts = stores.map(\.valueUpdateCount)
    let gauge = Gauge()
    for (index, store) in stores.enumerated() {
      try await store.fetch()
      if (index + 1).isMultiple(of: batch) { try await shelf.storage.flush() }
    }
    let after = shelf.storage.statistics
    let bytes = Double(after.bytesWritten - before.bytesWritten) / Double(numbers.count)
    let reading = gauge.reading(of: bytes, per: numbers.count)
    try expect(after.commits - before.commits, numbers.count / batch, "the commits")
    try expect(stores.map(\.valueUpdateCount), counts.map { $0 + 1 }, "the confirmations")
    shelf.client.clearStores()
    return reading
  }

  private static func touch(
    _ shelf: Shelf, _ program: PlainProgram, _ batch: Int
  ) throws -> Reading {
    let identities = try shelf.nextNumbers(100, for: program).map(NoteQuery.identity)
    let database = shelf.database(program)
    let before = try database.bytesWritten()
    let gauge = Gauge()
    for start in stride(from: 0, to: identities.count, by: batch) {
      try database.transaction {
        for identity in identities[start..<start + batch] { try database.confirm(identity) }
      }
    }
    let bytes = Double(try database.bytesWritten() - before) / Double(identities.count)
    return gauge.reading(of: bytes, per: identities.count)
  }

  @concurrent
  private static func events(_ count: Int, _ shelf: Shelf) async throws -> Reading {
    let edition = shelf.corpus.nextEdition()
    let source = EventSource()
    let notes = shelf.nextNumbers(count).map { Note($0, edition: edition) }
    var (sum, told) = (Reading.zero, 0)
    for (index, note) in notes.enumerated() {
      let store = shelf.client.store(
        for: NoteQuery(number: note.number).persisted().stale(after: .seconds(86_400))
          .controlled(by: source))
      let shown = Locked(Note?.none)
      let subscription = store.subscribe { state in
        shown.withLock { $0 = state.currentValue }
      }
      let gauge = Gauge()
      try source.send(note, id: "\(index)")
      try await shelf.storage.flush()
      sum += gauge.reading()
      if shown.withLock({ $0 }) == note { told += 1 }
      subscription.cancel()
    }
    try expect(told, count, "the events told")
    try shelf.check(notes)
    shelf.client.clearStores()
    return sum / count
  }
}
