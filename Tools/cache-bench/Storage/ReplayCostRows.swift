import Foundation
import Query
import QueryReplay
import QuerySQLite

/// What a replayed mutation costs the processor, whatever waits beside it and for it.
enum ReplayCostRows {
  /// - Parameter pending: How many mutations the longest queue has.
  static func all(pending: Int) -> [Row] {
    [1, 100, 10_000].map { Self.processorTime(lanes: $0) }
      + [Self.flatness(pending), Self.tickets]
  }

  private static let count = 10_000

  private static func processorTime(lanes: Int) -> Row {
    let name = "replay-cpu-in-\(lanes)"
    return Row(
      name: name,
      title: "processor time of replay, \(Self.count) in \(lanes) lanes, each",
      goal: .timesFloor(2),
      floor: "a plain C program: a claim and a settle, two FULL commits",
      lean: .program("the same of one row each, without an index"),
      unit: .processorTime
    ) {
      let desk = try await Desk(name)
      return Trial(
        counting: { try await Self.replay(Self.count, lanes: lanes, on: desk).ofProcessor },
        floor: { try desk.outbox(.floor).replay(Self.count).ofProcessor },
        lean: { try desk.outbox(.lean).replay(Self.count).ofProcessor },
        mostRounds: 3,
        end: { try await desk.storage.close() }
      )
    }
  }

  private static func flatness(_ pending: Int) -> Row {
    Row(
      name: "replay-cpu-queue",
      title: "processor time of replay, \(pending) in 100 lanes, each",
      goal: .timesFloor(1.5),
      floor: "the same of \(pending / 100)",
      lean: .program("C: a claim and a settle of one row each, of \(pending / 100)"),
      unit: .processorTime
    ) {
      let desk = try await Desk("replay-cpu-queue")
      return Trial(
        counting: { try await Self.replay(pending, lanes: 100, on: desk).ofProcessor },
        floor: {
          // Several times, so that it has less noise.
          var sum = Reading.zero
          for _ in 0..<5 { sum += try await Self.replay(pending / 100, on: desk).ofProcessor }
          return sum / 5
        },
        lean: { try desk.outbox(.lean).replay(pending / 100).ofProcessor },
        mostRounds: 1,
        end: { try await desk.storage.close() }
      )
    }
  }

  private static let tickets = Row(
    name: "replay-tickets",
    title: "replay of 1000 mutations, a ticket waits for each, each",
    goal: .timesFloor(1.5),
    floor: "the same without tickets",
    lean: .program("C: a claim and a settle of one row each"),
    unit: .nanoseconds
  ) {
    let desk = try await Desk("replay-tickets")
    return Trial(
      counting: { try await Self.replay(1_000, awaitingTickets: true, on: desk) },
      floor: { try await Self.replay(1_000, on: desk) },
      lean: { try desk.outbox(.lean).replay(1_000) },
      mostRounds: 11,
      end: { try await desk.storage.close() }
    )
  }
}

// MARK: - Rounds

extension ReplayCostRows {
  /// Replays mutations that do nothing.
  ///
  /// - Returns: The nanoseconds of each.
  @concurrent
  private static func replay(
    _ count: Int, lanes: Int? = 100, awaitingTickets: Bool = false, on desk: Desk
  ) async throws -> Reading {
    let client = QueryClient.withoutObservers(storage: desk.storage)
    let mutation = SaveNote.durable(inLanes: lanes)
    let replayer = MutationReplayer(client: client)
    try replayer.register(mutation)
    let tickets = try await client.store(for: mutation).enqueueNotes(count)
    let waiting = awaitingTickets ? Self.wait(for: tickets) : nil
    if awaitingTickets { try await Self.settleDown() }
    let gauge = Gauge()
    let summary = try await replayer.replayOnce()
    let sum = try await waiting?.value
    let reading = gauge.reading(per: count)
    if let sum { try expect(sum, count * (count - 1) / 2, "the sum of the outcomes") }
    try expect(summary, ReplaySummary(succeeded: count), "what was replayed")
    try expect(try desk.storage.outbox.counts, OutboxCounts(), "what is left in the outbox")
    return reading
  }

  private static func wait(for tickets: [MutationTicket<Int>]) -> Task<Int, any Error> {
    Task {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for ticket in tickets { group.addTask { try await ticket.outcome() } }
        return try await group.reduce(0, +)
      }
    }
  }

  /// Lets the waits begin.
  private static func settleDown() async throws { try await Task.sleep(for: .milliseconds(100)) }
}

extension QueryStore where State: _MutationStateProtocol, State.Arguments == Note {
  /// Commits so many mutations, a thousand at a time.
  func enqueueNotes(_ count: Int) async throws -> [MutationTicket<State.Value>] {
    var tickets = [MutationTicket<State.Value>]()
    for start in stride(from: 0, to: count, by: 1_000) {
      try await withThrowingTaskGroup(of: MutationTicket<State.Value>.self) { group in
        for number in start..<min(start + 1_000, count) {
          group.addTask { try await self.enqueue(with: Note(number, edition: 0)) }
        }
        for try await ticket in group { tickets.append(ticket) }
      }
    }
    return tickets
  }
}
