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
      lean: .program("the same of one row each, without an index"),
      unit: .nanoseconds
    ) {
      let desk = try await Desk(name)
      return Trial(
        counting: { try await Self.replay(count, lanes: lanes, on: desk) },
        floor: { try desk.outbox(.floor).replay(count) },
        lean: { try desk.outbox(.lean).replay(count) },
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
      lean: .program("the same by their numbers"),
      unit: .nanoseconds
    ) {
      let desk = try await Desk("queued")
      try await desk.fill(.ready, pending)
      for program in [PlainProgram.floor, .lean] {
        let notes = (0..<1_000).map { Note($0, edition: 0) }
        _ = try desk.outbox(program).queue(notes, JSONQueryCoder())
      }
      return Trial(
        counting: { try Self.makeStore(on: desk) },
        floor: { try desk.outbox(.floor).readNewest(50) },
        lean: { try desk.outbox(.lean).readNewest(50) },
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
      lean: .absent("no memory is leaner"),
      unit: .bytes
    ) {
      let desk = try await Desk("queued-memory")
      try await desk.fill(.ready, pending)
      _ = try Self.makeStore(on: desk)
      return Trial(
        counting: {
          let gauge = Gauge()
          let before = try Allocations.bytesInUse()
          let client = QueryClient.withoutObservers(storage: desk.storage)
          let store = client.store(for: SaveNote.durable)
          let after = try Allocations.bytesInUse()
          try expect(store.history.count, 50, "the mutations that the store shows")
          return gauge.reading(of: Double(after - before))
        },
        floor: { Gauge().reading(of: Double(50 * Note.byteCount)) },
        mostRounds: 5,
        end: { try await desk.storage.close() }
      )
    }
  }
}

// MARK: - Rounds

extension QueueRows {
  @concurrent
  private static func replay(_ count: Int, lanes: Int?, on desk: Desk) async throws -> Reading {
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
    let gauge = Gauge()
    let summary = try await replayer.replayOnce()
    let reading = gauge.reading(per: count)
    try expect(summary, ReplaySummary(succeeded: count), "what was replayed")
    try expect(try desk.storage.outbox.counts, OutboxCounts(), "what is left in the outbox")
    return reading
  }

  private static func makeStore(on desk: Desk) throws -> Reading {
    let client = QueryClient.withoutObservers(storage: desk.storage)
    let gauge = Gauge()
    let store = client.store(for: SaveNote.durable)
    let reading = gauge.reading()
    try expect(store.history.count, 50, "the mutations that the store shows")
    return reading
  }
}
