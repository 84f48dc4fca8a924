import Foundation
import Query
import QuerySQLite

/// A thousand mutations wait whose edits are laid over one value. The edit is as small as can be, so that
/// what is measured is what comes beside it.
enum ShownRows {
  static let all = [Self.enqueue, Self.refetch, Self.launch, Self.memory]

  private static let live = 1_000

  /// How many notes there are.
  private struct Total: QueryRequest {
    typealias State = QueryState<Int?, Int>

    var path: QueryPath { ["total"] }

    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<Int>
    ) async throws -> Int { 0 }
  }

  private static func count(_ total: inout Int?, _ note: Note) {
    total = (total ?? 0) + (note.number >= 0 ? 1 : 0)
  }

  private typealias Save = ModifiedQuery<
    SaveNote.Durable,
    _OptimisticModifier<SaveNote.Durable, ModifiedQuery<Total, _PersistedModifier<Total>>>
  >

  private static let save: Save = SaveNote.durable.optimistic(
    on: { _ in Total().persisted() },
    {
      total, note, _ in ShownRows.count(&total, note)
    })

  private static let notes = (0..<Self.live + 50).map { Note($0, edition: 0) }

  /// A client on a storage in memory in which so many mutations wait.
  private static func client(edits: Bool) async throws -> QueryClient {
    let client = QueryClient.withoutObservers(storage: MemoryQueryStorage())
    if edits { try client.register(Self.save) }
    return client
  }

  // MARK: - Rows

  private static let enqueue = Row(
    name: "edit-enqueue",
    title: "enqueue with an edit, over 1000 live ones",
    goal: .above(5_000),
    floor: "enqueue without an edit, over 1000 live ones, and the closure",
    lean: .absent("nothing is on disk"),
    unit: .nanoseconds
  ) {
    Trial(
      figure: {
        let client = try await Self.client(edits: true)
        let total = client.store(for: Total().persisted())
        let time = try await Self.enqueue(in: client.store(for: Self.save))
        try expect(total.currentValue, Self.notes.count, "the edits that are shown")
        return time
      },
      floor: {
        var total: Int? = 0
        let store = try await Self.client(edits: false).store(for: SaveNote.durable)
        let time = try await Self.enqueue(in: store) { Self.count(&total, $0) }
        try expect(total, Self.notes.count - Self.live, "the closure's calls")
        return time
      },
      mostRounds: 31
    )
  }

  @concurrent
  private static func enqueue<State: _MutationStateProtocol>(
    in store: QueryStore<State>, also closure: (Note) -> Void = { _ in }
  ) async throws -> Double where State.Arguments == Note {
    for note in Self.notes.prefix(Self.live) { try await store.enqueue(with: note) }
    let rest = Self.notes.dropFirst(Self.live)
    let watch = Stopwatch()
    for note in rest {
      try await store.enqueue(with: note)
      closure(note)
    }
    return watch.nanoseconds(per: rest.count)
  }

  private static let refetch = Row(
    name: "edit-refetch",
    title: "a fetch under 1000 live edits",
    goal: .above(300_000),
    floor: "a fetch, and the closures",
    lean: .absent("nothing is on disk"),
    unit: .nanoseconds
  ) {
    let client = try await Self.client(edits: true)
    let total = client.store(for: Total().persisted())
    let store = client.store(for: Self.save)
    for note in Self.notes.prefix(Self.live) { try await store.enqueue(with: note) }
    let plain = try await Self.client(edits: false).store(for: Total().persisted())
    return Trial(
      figure: {
        let time = try await Self.fetch(total)
        try expect(total.currentValue, Self.live, "the edits that are shown")
        return time
      },
      floor: {
        try await Self.fetch(plain) {
          var sum: Int? = 0
          for note in Self.notes.prefix(Self.live) { Self.count(&sum, note) }
          try expect(sum, Self.live, "the closures' calls")
        }
      }
    )
  }

  @concurrent
  private static func fetch(
    _ store: QueryStore<Total.State>, also closures: () throws -> Void = {}
  ) async throws -> Double {
    let watch = Stopwatch()
    for _ in 0..<20 {
      _ = try await store.fetch()
      try closures()
    }
    return watch.nanoseconds(per: 20)
  }

  /// A folder in which mutations wait.
  private static func folder(_ name: String, _ notes: [Note]) async throws -> URL {
    let folder = try Scratch.makeFolder(name)
    let storage = try SQLiteQueryStorage(directory: folder)
    let client = QueryClient.withoutObservers(storage: storage)
    try client.register(Self.save)
    let total = client.store(for: Total().persisted())
    _ = try await total.fetch()
    let store = client.store(for: Self.save)
    for start in stride(from: 0, to: notes.count, by: 1_000) {
      try await client.enqueue { batch in
        for note in notes[start..<min(start + 1_000, notes.count)] {
          try batch.add(store, with: note)
        }
      }
    }
    try await storage.close()
    return folder
  }

  private static let launch = Row(
    name: "edit-launch",
    title: "launch with 1000 live edits, to the first value",
    goal: .atMost(15_000_000),
    floor: "the storage opened, its rows read and their JSON decoded",
    lean: .program("C open, read of rows by number, JSON decode"),
    unit: .nanoseconds
  ) {
    let folder = try await Self.folder("edit-launch", Array(Self.notes.prefix(Self.live)))
    let lean = try Scratch.makeFolder("edit-launch-lean").appending(path: "lean.sqlite").path
    _ = try LeanOutbox(path: lean).queue(Array(Self.notes.prefix(Self.live)), JSONQueryCoder())
    return Trial(
      counting: {
        let gauge = Gauge()
        let storage = try SQLiteQueryStorage(directory: folder)
        let client = QueryClient.withoutObservers(storage: storage)
        try client.register(Self.save)
        let value = client.store(for: Total().persisted()).currentValue
        let reading = gauge.reading()
        try expect(value, Self.live, "the edits that are shown")
        try await storage.close()
        return reading
      },
      floor: {
        let gauge = Gauge()
        let storage = try SQLiteQueryStorage(directory: folder)
        let decoder = JSONDecoder()
        let notes = try storage.outbox.entries().map {
          try decoder.decode(Note.self, from: $0.arguments)
        }
        let reading = gauge.reading()
        try expect(notes.count, Self.live, "the rows that were read")
        try await storage.close()
        return reading
      },
      lean: {
        let gauge = Gauge()
        let outbox = try LeanOutbox(path: lean)
        let coder = JSONQueryCoder()
        let notes = try outbox.newest(.max).map { try coder.decode(Note.self, from: $0) }
        let reading = gauge.reading()
        try expect(notes.count, Self.live, "the rows that were read")
        return reading
      },
      mostRounds: 31
    )
  }

  private static let memory = Row(
    name: "edit-memory",
    title: "memory of a live edit of 10000",
    goal: .above(400),
    floor: "its arguments",
    lean: .absent("no memory is leaner"),
    unit: .bytes
  ) {
    let count = 10 * Self.live
    let folder = try await Self.folder(
      "edit-memory", (0..<count).map { Note($0, edition: 0) })
    let storage = try SQLiteQueryStorage(directory: folder)
    let arguments = try storage.outbox.entries().map(\.arguments)
    return Trial(
      counting: {
        let client = QueryClient.withoutObservers(storage: storage)
        let total = client.store(for: Total().persisted())
        let gauge = Gauge()
        let before = try Allocations.bytesInUse()
        try client.register(Self.save)
        let bytes = Double(try Allocations.bytesInUse() - before) / Double(count)
        let reading = gauge.reading(of: bytes, per: count)
        try expect(total.currentValue, count, "the edits that are shown")
        return reading
      },
      floor: {
        let decoder = JSONDecoder()
        var notes = [Note]()
        notes.reserveCapacity(count)
        let gauge = Gauge()
        let before = try Allocations.bytesInUse()
        for arguments in arguments {
          notes.append(try decoder.decode(Note.self, from: arguments))
        }
        let bytes = Double(try Allocations.bytesInUse() - before) / Double(count)
        let reading = gauge.reading(of: bytes, per: count)
        try expect(notes.count, count, "the arguments")
        return reading
      },
      mostRounds: 5,
      end: { try await storage.close() }
    )
  }
}
