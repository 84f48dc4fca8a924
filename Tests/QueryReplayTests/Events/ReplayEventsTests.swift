import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct ReplayEventsTests {
  /// The events up to and with one.
  private func events(
    of events: some AsyncSequence<ReplayEvent, Never>, upTo last: ReplayEvent
  ) async -> [ReplayEvent] {
    var all = [ReplayEvent]()
    for await event in events {
      if case .attemptEnded = event { continue }
      all.append(event)
      if event == last { break }
    }
    return all
  }

  @Test func eventsTellTheStoryOfARow() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner { lease in
      lease.entry.attempts > 1
        ? .success : .failure(.transient(retryAfter: nil), .wait(.backoff, .seconds(5)))
    }
    let events = scratch.replayer.events
    let id = try await scratch.enqueue()[0]
    try await scratch.whileRunning {
      await scratch.clock.sleeper(until: .seconds(5))
      scratch.clock.advance(by: .seconds(5))
      let story = await self.events(of: events, upTo: .drained)
      #expect(
        story == [
          .enqueued(id), .claimed(id), .attemptStarted(id, number: 1),
          .attemptFailed(id, .transient(retryAfter: nil), next: .backoff), .waiting(.outbox),
          .claimed(id), .attemptStarted(id, number: 2), .succeeded(id), .drained,
        ])
    }
  }

  @Test func eachStreamGetsAllEvents() async throws {
    let scratch = ReplayScratch(.disconnected)
    _ = try scratch.runner()
    let (first, second) = (scratch.replayer.events, scratch.replayer.events)
    try await scratch.whileRunning {
      // Without a network, too.
      #expect(await self.events(of: first, upTo: .drained) == [.drained])
      #expect(await self.events(of: second, upTo: .drained) == [.drained])
    }
  }

  /// A probe that is under way may still find the server.
  @Test func aProbeEndsBeforeTheNetworkIsWaitedFor() async throws {
    let scratch = ReplayScratch(.disconnected)
    let gate = Gate()
    _ = try scratch.runner { _ in
      try await gate.pass()
      return .failure(.connectivity, .wait(.offline, .seconds(1)))
    }
    let events = scratch.replayer.events
    let id = try await scratch.enqueue(host: "gone")[0]
    try await scratch.whileRunning {
      await gate.arrival()
      let turns = scratch.replayer.ledger.turns
      scratch.network.send(status: .disconnected)
      while scratch.replayer.ledger.turns == turns { await Task.yield() }
      gate.open()
      let story = await self.events(of: events, upTo: .waiting(.network))
      #expect(
        story == [
          .enqueued(id), .claimed(id), .attemptStarted(id, number: 1),
          .attemptFailed(id, .connectivity, next: .offline), .waiting(.network),
        ])
    }
  }

  @Test func onlyTheNewestEventsAreKept() async throws {
    let hub = ReplayEventHub()
    let events = hub.makeEvents(of: nil)
    let ids = (0..<300).map { _ in UUID() }
    for id in ids { hub.send(.enqueued(id)) }
    hub.send(.drained)
    let kept = await self.events(of: events, upTo: .drained)
    #expect(kept == [.dropped(45)] + ids.suffix(255).map { .enqueued($0) } + [.drained])
  }

  @Test func attemptsTellHowLongTheyTook() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner { _ in
      scratch.clock.advance(by: .seconds(3))
      return .success
    }
    let events = scratch.replayer.events
    let id = try await scratch.enqueue(host: "a.test")[0]
    _ = try await scratch.replayer.replayOnce()
    for await event in events {
      guard case .attemptEnded(let ended, let host, let duration, let waited) = event else {
        continue
      }
      #expect(ended == id)
      #expect(host == "a.test")
      #expect(duration == .seconds(3))
      #expect(waited >= .zero)
      break
    }
  }

  @Test func rowsWithoutHandlersAreTold() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner()
    try await scratch.enqueue(2, name: "other")
    let events = scratch.replayer.events
    let first = ReplayEvent.unhandled(name: "other", version: 1, count: 2)
    let later = ReplayEvent.unhandled(name: "late", version: 1, count: 1)
    try await scratch.whileRunning {
      #expect(await self.events(of: events, upTo: .waiting(.outbox)) == [first, .waiting(.outbox)])
      try await scratch.enqueue(name: "late")
      #expect(await self.events(of: events, upTo: later).last == later)
      _ = try scratch.runner("late")
      #expect(await self.events(of: events, upTo: first).last == first)
    }
  }

  /// However many wait, none of them is read for that.
  @Test func rowsWithoutHandlersAreCountedAndNotRead() async throws {
    let reads = Locked<ScriptedOutbox?>(nil)
    let scratch = ReplayScratch(outbox: { base in
      let scripted = ScriptedOutbox(base)
      reads.withLock { $0 = scripted }
      return scripted
    })
    _ = try scratch.runner()
    try await scratch.enqueue(500, name: "other")
    let events = scratch.replayer.events
    let all = ReplayEvent.unhandled(name: "other", version: 1, count: 500)
    try await scratch.whileRunning {
      #expect(await self.events(of: events, upTo: .waiting(.outbox)).first == all)
    }
    #expect(reads.withLock { $0 }?.reads.elements == [])
  }

  @Test func streamEndsWithItsReplayer() async throws {
    var scratch: ReplayScratch? = ReplayScratch()
    let events = try #require(scratch).replayer.events
    scratch = nil
    for await _ in events {}
  }

  @Test func deadAndCancelledRowsAreTold() async throws {
    let scratch = ReplayScratch()
    _ = try scratch.runner { _ in .failure(.permanent(reason: "no"), .dead(.rejected)) }
    let events = scratch.replayer.events
    let ids = try await scratch.enqueue(2)
    try await scratch.outbox.cancel(ids[1])
    _ = try await scratch.replayer.replayOnce()
    let story = await self.events(of: events, upTo: .dead(ids[0], .rejected))
    #expect(story.contains(.cancelled(ids[1])))
  }

  @Test func rowsWithoutHandlersOnDiskAreTold() async throws {
    let folder = try ScratchFolder()
    let storage = try SQLiteQueryStorage(directory: folder.url)
    for _ in 0..<2 {
      let mutation = NewMutation(name: "other", instance: "", coder: "json", arguments: Data())
      _ = try await storage.outbox.enqueue(mutation, claiming: false)
    }
    let replayer = MutationReplayer(outbox: storage.outbox)
    try replayer.register(ScriptedRunner("edit", outbox: storage.outbox) { _ in .success })
    let events = replayer.events
    _ = try await replayer.replayOnce()
    let told = ReplayEvent.unhandled(name: "other", version: 1, count: 2)
    #expect(await self.events(of: events, upTo: told).last == told)
  }
}
