import Foundation
import Query
import QueryReplay
import QuerySQLite

/// Mutations that wait, their replay, and the store that shows them.
enum QueueRows {
  /// - Parameter pending: How many wait when a store of their mutation is made.
  static func all(pending: Int) -> [Row] {
    [Self.replay(1_000), Self.replay(10_000)]
      + [(1_000, 1), (1_000, 100), (10_000, 1), (10_000, 100), (10_000, 10_000)].map {
        Self.replay($0.0, lanes: $0.1)
      } + [Self.store(at: pending), Self.memory(at: pending)]
  }

  /// - Parameters:
  ///   - count: How many are replayed.
  ///   - lanes: In how many lanes; nil: each in its own.
  private static func replay(_ count: Int, lanes: Int? = nil) -> Row {
    let name = lanes.map { "replay-\(count)-in-\($0)" } ?? "replay-\(count)"
    return Row(
      name: name,
      title: lanes.map { "replay of \(count) mutations in \($0) lanes, each" }
        ?? "replay of \(count) mutations that do nothing, each",
      goal: .timesFloor(2),
      floor: "a plain C program: a claim and a settle, two FULL commits",
      unit: .nanoseconds
    ) {
      let desk = try await Desk(name)
      let coder = JSONQueryCoder()
      return Trial(
        figure: { try await Self.replay(count, lanes: lanes, on: desk) },
        floor: {
          let queued = try desk.bare.queue((0..<count).map { Note($0, edition: 0) }, coder)
          let watch = Stopwatch()
          for mutation in queued { try desk.bare.leaseAndSettle(mutation, coder) }
          return watch.nanoseconds(per: count)
        },
        mostRounds: 10_000 / count * 2 + 1,
        end: { try await desk.storage.close() }
      )
    }
  }

  private static func store(at pending: Int) -> Row {
    Row(
      name: "mutation-store-queued",
      title: "store of a mutation made, \(pending) queued",
      goal: .atMost(5_000_000),
      floor: "C read of the newest 50, JSON decode",
      unit: .nanoseconds
    ) {
      let desk = try await Desk("queued")
      try await desk.fill(.ready, pending)
      let coder = JSONQueryCoder()
      _ = try desk.bare.queue((0..<1_000).map { Note($0, edition: 0) }, coder)
      return Trial(
        figure: { try Self.makeStore(on: desk) },
        floor: {
          let watch = Stopwatch()
          let notes = try desk.bare.newest(50).map { try coder.decode(Note.self, from: $0) }
          let time = watch.nanoseconds()
          try expect(notes.count, 50, "the newest mutations")
          return time
        },
        end: { try await desk.storage.close() }
      )
    }
  }

  private static func memory(at pending: Int) -> Row {
    Row(
      name: "mutation-store-memory",
      title: "memory of the store of a mutation, \(pending) queued",
      goal: .atMost(2_097_152),
      floor: "the arguments of the newest 50",
      unit: .bytes
    ) {
      let desk = try await Desk("queued-memory")
      try await desk.fill(.ready, pending)
      _ = try Self.makeStore(on: desk)
      return Trial(
        figure: {
          let before = try Allocations.bytesInUse()
          let client = QueryClient.withoutObservers(storage: desk.storage)
          let store = client.store(for: SaveNote.durable)
          let after = try Allocations.bytesInUse()
          try expect(store.history.count, 50, "the mutations that the store shows")
          return Double(after - before)
        },
        floor: { Double(50 * Note.byteCount) },
        mostRounds: 5,
        end: { try await desk.storage.close() }
      )
    }
  }
}

// MARK: - Rounds

extension QueueRows {
  @concurrent
  private static func replay(_ count: Int, lanes: Int?, on desk: Desk) async throws -> Double {
    let client = QueryClient.withoutObservers(storage: desk.storage)
    let replayer = MutationReplayer(client: client)
    let mutation = SaveNote.durable(inLanes: lanes)
    try replayer.register(mutation)
    let store = client.store(for: mutation)
    for start in stride(from: 0, to: count, by: 1_000) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in start..<min(start + 1_000, count) {
          group.addTask { _ = try await store.enqueue(with: Note(number, edition: 0)) }
        }
        try await group.waitForAll()
      }
    }
    let watch = Stopwatch()
    let summary = try await replayer.replayOnce()
    let time = watch.nanoseconds(per: count)
    try expect(summary, ReplaySummary(succeeded: count), "what was replayed")
    try expect(try desk.storage.outbox.counts, OutboxCounts(), "what is left in the outbox")
    return time
  }

  private static func makeStore(on desk: Desk) throws -> Double {
    let client = QueryClient.withoutObservers(storage: desk.storage)
    let watch = Stopwatch()
    let store = client.store(for: SaveNote.durable)
    let time = watch.nanoseconds()
    try expect(store.history.count, 50, "the mutations that the store shows")
    return time
  }
}
