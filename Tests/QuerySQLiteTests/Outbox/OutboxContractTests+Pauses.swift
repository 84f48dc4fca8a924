import Foundation
import Query
import TestSupport
import Testing

// MARK: - Pauses of a lane, a name, a host

extension OutboxContractTests {
  private static let pauses = [OutboxPause.lane("lane"), .name("note"), .host("example.org")]

  /// Enqueues one that each of the pauses holds.
  private func addHeld(_ trial: OutboxTrial) async throws -> UUID {
    try await trial.add(lane: "lane") { $0.host = "example.org" }
  }

  @Test(arguments: StorageUnderTest.withOutbox, Self.pauses)
  func aPauseOfAPartHoldsThatPartAlone(
    _ kind: StorageUnderTest, _ pause: OutboxPause
  ) async throws {
    let trial = try OutboxTrial(kind)
    let running = try await self.addHeld(trial)
    let lease = try await trial.lease(running)
    let held = try await self.addHeld(trial)
    let free = try await trial.add("other", lane: "free") { $0.host = "example.com" }
    try await trial.outbox.pause(pause)
    #expect(try trial.outbox.pauses == [pause: trial.clock.wall])
    #expect(try await trial.outbox.settle(lease, .success), "what runs goes on")
    #expect(try trial.entry(held).waitReason == .paused)
    #expect(try trial.isNext(held) == false)
    #expect(try trial.outbox.why(held).hasPrefix("\(pause) is paused since "))
    let answer = try await trial.claim(["note", "other"])
    #expect(answer.leases.map(\.entry.id) == [free])
    #expect(answer.nextDue == nil)
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(held))).leases.isEmpty)
    let new = NewMutation(
      name: "note", instance: "instance", lane: "lane", host: "example.org", coder: "json",
      arguments: Data())
    let enqueued = try await trial.outbox.enqueue(new, claiming: true)
    #expect(enqueued.lease == nil, "enqueueing goes on, and sends nothing")
    #expect(enqueued.entry.waitReason == .paused)
    try await trial.outbox.pause(pause)
    try await trial.outbox.resume(pause)
    #expect(try trial.outbox.pauses == [:])
    #expect(try trial.entry(held).waitReason == nil)
    #expect(try await trial.claimed() == [held])
  }

  /// They are equal in Swift.
  static let composed = "\u{e9}"
  static let decomposed = "e\u{301}"

  @Test(
    arguments: StorageUnderTest.withOutbox,
    [OutboxPause.lane(Self.decomposed), .name("note"), .host(Self.decomposed)])
  func aPauseIsEndedByAnEqualName(_ kind: StorageUnderTest, _ pause: OutboxPause) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await trial.add(lane: Self.composed) { $0.host = Self.composed }
    try await trial.outbox.pause(pause)
    #expect(try await trial.claimed() == [])
    let equal: OutboxPause =
      switch pause {
      case .lane: .lane(Self.composed)
      case .host: .host(Self.composed)
      case .name, .everything: pause
      }
    try await trial.outbox.resume(equal)
    #expect(try trial.outbox.pauses == [:])
    #expect(try await trial.claimed() == [id])
    try await trial.outbox.pause(.name("other"))
    #expect(try trial.outbox.pauses.count == 1)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func whatTwoPausesHoldWaitsForTheEndOfBoth(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await self.addHeld(trial)
    let all = [OutboxPause.everything] + Self.pauses
    for pause in all { try await trial.outbox.pause(pause) }
    for pause in all {
      #expect(try await trial.claimed() == [])
      #expect(try trial.outbox.why(id).hasPrefix("\(pause) is paused"))
      try await trial.outbox.resume(pause)
    }
    #expect(try await trial.claimed() == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox, Self.pauses)
  func whatIsPausedKeepsItsWaitAndItsOrder(
    _ kind: StorageUnderTest, _ pause: OutboxPause
  ) async throws {
    let trial = try OutboxTrial(kind)
    let first = try await self.addHeld(trial)
    let second = try await self.addHeld(trial)
    let lease = try await trial.lease(first)
    try await trial.outbox.pause(pause)
    _ = try await trial.outbox.settle(lease, .failure(.wait(.backoff, .seconds(60))))
    trial.clock.advance(by: .seconds(30))
    #expect(try await trial.claimed() == [])
    try await trial.outbox.resume(pause)
    let answer = try await trial.claim()
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == .seconds(30))
    try await trial.outbox.pause(pause)
    trial.clock.advance(by: .seconds(60))
    #expect(try await trial.claim().nextDue == nil)
    try await trial.outbox.resume(pause)
    try await trial.run(first, .success)
    #expect(try await trial.claimed() == [second])
  }

  @Test(arguments: StorageUnderTest.withOutbox, Self.pauses)
  func whatIsPausedCanBeEndedAndGrowsTooOld(
    _ kind: StorageUnderTest, _ pause: OutboxPause
  ) async throws {
    let trial = try OutboxTrial(kind)
    let old = try await trial.add(lane: "lane") {
      $0.host = "example.org"
      $0.maxAge = .seconds(60)
    }
    let unwanted = try await self.addHeld(trial)
    let wanted = try await self.addHeld(trial)
    try await trial.outbox.pause(pause)
    trial.clock.advance(by: .seconds(61))
    #expect(try await trial.outbox.cancel(unwanted))
    #expect(try trial.entry(old).deadReason == .expired)
    #expect(try await trial.claimed() == [])
    try await trial.outbox.resume(pause)
    #expect(try await trial.claimed() == [wanted])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anErasureEndsPauses(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for pause in Self.pauses { try await trial.outbox.pause(pause) }
    try await trial.storage.erase()
    #expect(try trial.outbox.pauses == [:])
    let id = try await self.addHeld(trial)
    #expect(try await trial.claimed() == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfALaneKeepsToPauses(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let id = try await self.addHeld(trial)
    let request = ClaimRequest(.lowest(handledBy: [.handler("note")]), limit: 5, lane: "lane")
    for pause in Self.pauses {
      try await trial.outbox.pause(pause)
      let answer = try await trial.outbox.claim(request)
      #expect(answer.leases.isEmpty && answer.nextDue == nil, "\(pause)")
      try await trial.outbox.resume(pause)
    }
    #expect(try await trial.outbox.claim(request).leases.map(\.entry.id) == [id])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func subscribersAreToldOfPauses(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    _ = try await self.addHeld(trial)
    try await trial.outbox.pause(.lane("lane"))
    try await trial.outbox.pause(.lane("lane"))
    try await trial.outbox.resume(.lane("lane"))
    try await trial.outbox.resume(.lane("lane"))
    let events = await trial.events.wait(forCount: 3)
    #expect(events.filter { $0 == .released }.count == 2)
  }
}
