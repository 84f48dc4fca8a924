import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct ReplaySlotsTests {
  private var slots = ReplaySlots(ReplayConfiguration())
  private let handlers: Set = [
    MutationHandler(name: "edit", instance: "", version: 1, upgradesOlder: false)
  ]

  private func entry(_ host: String, attempts: Int = 1) -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: "edit", instance: "", host: host, attempts: attempts,
      idempotencyKey: "", createdAt: Date(timeIntervalSince1970: 0), coder: "json",
      arguments: Data())
  }

  private mutating func claim(at now: Duration = .zero) throws -> ClaimRequest {
    let request = self.slots.beginClaim(self.handlers, at: now)
    return try #require(request)
  }

  @Test mutating func hostTakesTwoAndAllTakeFour() throws {
    let request = try self.claim()
    #expect(request.limit == 4)
    #expect(request.hostSlots["a"] == 2)
    let first = [self.entry("a"), self.entry("a"), self.entry("b")]
    self.slots.endClaim(first, at: .zero)
    let next = try self.claim()
    #expect(next.limit == 1)
    #expect(["a", "b", "c"].map { next.hostSlots[$0] } == [Int]([0, 1, 2]))
    self.slots.endClaim([self.entry("b")], at: .zero)
    let none = self.slots.beginClaim(self.handlers, at: .zero)
    #expect(none == nil)
    self.slots.end(first[0].id, .answered, waiting: 0, at: .zero)
    let slots1 = try self.claim().hostSlots
    #expect(slots1["a"] == 1)
  }

  @Test mutating func oneClaimAtATimeAndNoneWithoutHandlers() throws {
    let withoutHandlers = self.slots.beginClaim([], at: .zero)
    #expect(withoutHandlers == nil)
    _ = try self.claim()
    #expect(!self.slots.isIdle)
    let second = self.slots.beginClaim(self.handlers, at: .zero)
    #expect(second == nil)
    self.slots.endClaim([], at: .zero)
    #expect(self.slots.isIdle)
  }

  @Test mutating func besideAProbeThatGoesOnAHostTakesAnotherOne() throws {
    self.slots.beginProbing()
    _ = try self.claim()
    self.slots.endClaim([self.entry("a")], at: .seconds(1))
    #expect(self.slots.nextSlot(after: .seconds(1)) == .seconds(11))
    var slots = try self.claim(at: .seconds(10)).hostSlots
    #expect(slots["a"] == 0)
    self.slots.endClaim([], at: .seconds(10))
    slots = try self.claim(at: .seconds(11)).hostSlots
    #expect(slots["a"] == 1)
    let second = self.entry("a")
    self.slots.endClaim([second], at: .seconds(11))
    // No more than two at a time, as ever.
    slots = try self.claim(at: .seconds(30)).hostSlots
    #expect(slots["a"] == 0)
    self.slots.endClaim([], at: .seconds(30))
    self.slots.end(second.id, .answered, waiting: 0, at: .seconds(30))
    #expect(self.slots.nextSlot(after: .seconds(30)) == nil)
    slots = try self.claim(at: .seconds(30)).hostSlots
    #expect(slots["a"] == 1)
  }

  @Test mutating func hostTakesItsProbeAloneUntilItAnswers() throws {
    self.slots.beginProbing()
    let slots2 = try self.claim().hostSlots
    #expect(slots2.others == 1)
    let probes = [self.entry("a"), self.entry("b")]
    self.slots.endClaim(probes, at: .zero)
    #expect(self.slots.isProbe(probes[0].id))
    self.slots.end(probes[0].id, .answered, waiting: 4, at: .zero)
    self.slots.end(probes[1].id, .unreachable, waiting: 0, at: .zero)
    let next = try self.claim().hostSlots
    #expect(["a", "b", "c"].map { next[$0] } == [Int]([2, 1, 1]))
  }

  @Test mutating func whatBeganOnAnotherNetworkTakesNoSlotOfThisOne() throws {
    _ = try self.claim()
    let old = [self.entry("a"), self.entry("a"), self.entry("b"), self.entry("b")]
    self.slots.endClaim(old, at: .zero)
    self.slots.beginProbing()
    let request = try self.claim()
    #expect(request.limit == 4)
    #expect(["a", "b", "c"].map { request.hostSlots[$0] } == [Int]([1, 1, 1]))
    self.slots.endClaim([self.entry("a"), self.entry("b")], at: .zero)
    // A link that comes and goes does not let more and more run.
    self.slots.beginProbing()
    let next = try self.claim()
    #expect(next.limit == 2)
    #expect(["a", "b", "c"].map { next.hostSlots[$0] } == [Int]([0, 0, 1]))
    self.slots.endClaim([], at: .zero)
    for entry in old { self.slots.end(entry.id, .nothing, waiting: 0, at: .zero) }
    self.slots.beginProbing()
    #expect(try self.claim().limit == 4)
    #expect(!self.slots.isIdle)
  }

  /// Those that are left aside are so once, however often the network changes.
  @Test mutating func anotherChangeOfTheNetworkLetsNoMoreRun() throws {
    _ = try self.claim()
    let old = self.entry("a")
    self.slots.endClaim([old], at: .zero)
    for _ in 1...3 { self.slots.beginProbing() }
    #expect(try self.claim().limit == 4)
    self.slots.endClaim([self.entry("a")], at: .zero)
    let next = try self.claim()
    #expect(next.limit == 3)
    #expect(next.hostSlots["a"] == 0)
    self.slots.endClaim([], at: .zero)
    self.slots.end(old.id, .nothing, waiting: 0, at: .zero)
    #expect(try self.claim().limit == 3)
  }

  /// A call that began on another network is left aside with all that it sends.
  @Test mutating func aCallIsLeftAsideOnceWhateverItSends() throws {
    _ = try self.claim()
    let call = (0..<3).map { _ in
      OutboxEntry(
        id: UUID(), number: 1, name: "edit", instance: "", lane: "lane", host: "a", attempts: 1,
        idempotencyKey: "", createdAt: Date(timeIntervalSince1970: 0), coder: "json",
        arguments: Data())
    }
    self.slots.endClaim(call, at: .zero)
    self.slots.beginProbing()
    let next = try self.claim()
    #expect(next.limit == 4)
    #expect(next.hostSlots["a"] == 1)
    self.slots.endClaim([], at: .zero)
    for entry in call { self.slots.end(entry.id, .nothing, waiting: 0, at: .zero) }
    #expect(self.slots.isIdle)
    #expect(try self.claim().limit == 4)
  }

  @Test mutating func manyAreSpreadAfterTheProbe() throws {
    self.slots.beginProbing()
    _ = try self.claim()
    let probe = self.entry("a")
    self.slots.endClaim([probe], at: .zero)
    self.slots.end(probe.id, .answered, waiting: 10, at: .zero)
    // A tenth of two seconds each.
    let slots3 = try self.claim().hostSlots
    #expect(slots3["a"] == 1)
    let first = self.entry("a")
    self.slots.endClaim([first], at: .zero)
    #expect(self.slots.nextSlot(after: .zero) == .milliseconds(200))
    let slots4 = try self.claim().hostSlots
    #expect(slots4["a"] == 0)
    self.slots.endClaim([], at: .zero)
    let slots5 = try self.claim(at: .milliseconds(200)).hostSlots
    #expect(slots5["a"] == 1)
    self.slots.endClaim([], at: .milliseconds(200))
    self.slots.end(first.id, .answered, waiting: 0, at: .milliseconds(300))
    let slots6 = try self.claim(at: .seconds(2)).hostSlots
    #expect(slots6["a"] == 2)
    #expect(self.slots.nextSlot(after: .seconds(2)) == nil)
  }

  @Test mutating func noMoreThanTwoOfAHostRunWhileItsMutationsAreSpread() throws {
    self.slots.beginProbing()
    _ = try self.claim()
    let probe = self.entry("a")
    self.slots.endClaim([probe], at: .zero)
    self.slots.end(probe.id, .answered, waiting: 10, at: .zero)
    for time in [Duration.zero, .milliseconds(200)] {
      _ = try self.claim(at: time)
      self.slots.endClaim([self.entry("a")], at: time)
    }
    // It is time for the next one, but both still run.
    let slots = try self.claim(at: .milliseconds(400)).hostSlots
    #expect(slots["a"] == 0)
  }

  @Test mutating func repeatGoesFirstAfterAFirstTryIfNoneRuns() throws {
    let slots1 = try self.claim().hostSlots
    #expect(slots1.repeatsFirst == [])
    let first = self.entry("a", attempts: 1)
    self.slots.endClaim([first], at: .zero)
    let slots2 = try self.claim().hostSlots
    #expect(slots2.repeatsFirst == ["a"])
    let again = self.entry("a", attempts: 2)
    self.slots.endClaim([again], at: .zero)
    self.slots.end(first.id, .answered, waiting: 0, at: .zero)
    _ = try self.claim()
    let next = self.entry("a", attempts: 1)
    self.slots.endClaim([next], at: .zero)
    let slots3 = try self.claim().hostSlots
    #expect(slots3.repeatsFirst == [])
    self.slots.endClaim([], at: .zero)
    self.slots.end(again.id, .unreachable, waiting: 0, at: .zero)
    let slots4 = try self.claim().hostSlots
    #expect(slots4.repeatsFirst == ["a"])
  }

  @Test mutating func endOfAnUnknownAttemptChangesNothing() throws {
    self.slots.end(UUID(), .answered, waiting: 100, at: .zero)
    let slots9 = try self.claim().limit
    #expect(slots9 == 4)
  }

  /// Two runs that woke each other after claims that found nothing would never rest.
  @Test mutating func otherRunsLookAgainAfterAClaimThatFoundSomethingOrThatTheyAwaited() throws {
    _ = try self.claim()
    var isNews = self.slots.endClaim([], at: .zero)
    #expect(!isNews, "it found nothing, and nobody awaited it")
    _ = try self.claim()
    isNews = self.slots.endClaim([self.entry("a")], at: .zero)
    #expect(isNews, "there may be more for them")
    _ = try self.claim()
    let second = self.slots.beginClaim(self.handlers, at: .zero)
    #expect(second == nil)
    isNews = self.slots.endClaim([], at: .zero)
    #expect(isNews, "the second could not claim")
    _ = try self.claim()
    isNews = self.slots.endClaim([], at: .zero)
    #expect(!isNews, "the second was told already")
  }
}
