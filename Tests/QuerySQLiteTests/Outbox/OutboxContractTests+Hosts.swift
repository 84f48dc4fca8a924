import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

// MARK: - Hosts that are not well

extension OutboxContractTests {
  /// A failure that says something about the host; the row itself is due at once.
  private func failure(
    _ report: HostReport, _ next: FailedAttempt.Next = .now, _ outcome: String = "transient"
  ) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "Test.Failure", text: "it failed"), outcome: outcome,
        isCharged: false, maybeApplied: true, next: next, hostReport: report))
  }

  private func settle(
    _ trial: OutboxTrial, _ lease: MutationLease, _ outcome: AttemptOutcome
  ) async throws {
    #expect(try await trial.outbox.settle(lease, outcome))
  }

  /// Rows of a host, the first of which fails.
  private func host(
    _ trial: OutboxTrial, failingWith outcome: AttemptOutcome, rows: Int = 4
  ) async throws -> [UUID] {
    var ids = [UUID]()
    for _ in 0..<rows { ids.append(try await trial.add { $0.host = "notes.example" }) }
    let lease = try #require(try await trial.claim(limit: 1).leases.first)
    try await self.settle(trial, lease, outcome)
    return ids
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aHostThatAsksIsLeftAloneUntilThen(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let ids = try await self.host(trial, failingWith: self.failure(.askedToWait(.seconds(60))))
    let other = try await trial.add()
    let answer = try await trial.claim()
    #expect(answer.leases.map(\.entry.id) == [other])
    #expect(answer.nextDue == .seconds(60))
    let entry = try trial.entry(ids[1])
    #expect(entry.waitReason == .retryAfter)
    #expect(entry.nextAttemptAt == trial.clock.wall + 60)
    let date = (trial.clock.wall + 60).formatted(.iso8601)
    #expect(
      try trial.outbox.why(ids[1]) == "The host notes.example asked to wait until \(date).")
    // Not even a caller may disturb it.
    #expect(try await trial.outbox.claim(ClaimRequest(.mutation(ids[1]))).leases.isEmpty)
    #expect(try trial.isNext(ids[1]) == false)
    var mutation = NewMutation(
      name: "note", instance: "instance", host: "notes.example", coder: "json", arguments: Data())
    let enqueued = try await trial.outbox.enqueue(mutation, claiming: true)
    #expect(enqueued.lease == nil)
    #expect(enqueued.entry.waitReason == .retryAfter)
    mutation.id = UUID()
    mutation.host = "other.example"
    #expect(try await trial.outbox.enqueue(mutation, claiming: true).lease != nil)
    // Then one is its probe, and the others follow when it is answered.
    trial.clock.advance(by: .seconds(60))
    let probe = try await trial.claim().leases
    #expect(probe.map(\.entry.id) == [ids[1]])
    #expect(try await trial.claim().leases.isEmpty)
    try await self.settle(trial, probe[0], .success)
    #expect(
      try await trial.claimed() == [ids[2], ids[3], enqueued.entry.id, ids[0]])
  }

  /// A server that is down and one that answers with a 503 are waited for alike: an entry tells them apart.
  @Test(arguments: StorageUnderTest.withOutbox)
  func whatWasNotReachedSaysSo(_ kind: StorageUnderTest) async throws {
    let down = try OutboxTrial(kind)
    let failure = self.failure(
      .unreachable(pause: .seconds(60)), .wait(.backoff, .seconds(60)),
      MutationFailure.connectivity.word)
    let ids = try await self.host(down, failingWith: failure, rows: 9)
    #expect(try down.entry(ids[0]).waitReason == .backoff)
    #expect(try down.entry(ids[0]).isUnreached)
    // After some of them the host itself is waited for, also by those that were never tried.
    while let lease = try await down.claim(limit: 1).leases.first {
      try await self.settle(down, lease, failure)
    }
    let untried = try down.entry(ids[8])
    #expect(untried.attempts == 0)
    #expect(untried.waitReason == .backoff)
    #expect(untried.isUnreached)
    let other = try await down.add()
    #expect(try !down.entry(other).isUnreached)
    let busy = try OutboxTrial(kind)
    let answered = try await self.host(
      busy, failingWith: self.failure(.answered, .wait(.backoff, .seconds(60))))
    #expect(try busy.entry(answered[0]).waitReason == .backoff)
    #expect(try !busy.entry(answered[0]).isUnreached)
  }

  /// A large upload goes on for an hour, and says nothing of its host meanwhile.
  @Test(arguments: StorageUnderTest.withOutbox)
  func besideAProbeThatGoesOnAnotherOneIsSent(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let ids = try await self.host(trial, failingWith: self.failure(.askedToWait(.seconds(60))))
    trial.clock.advance(by: .seconds(60))
    let probe = try await trial.claim().leases
    #expect(probe.map(\.entry.id) == [ids[1]])
    let none = try await trial.claim()
    #expect(none.leases.isEmpty && none.nextDue == .seconds(10))
    trial.clock.advance(by: .seconds(9))
    #expect(try await trial.claim().nextDue == .seconds(1))
    trial.clock.advance(by: .seconds(1))
    let second = try await trial.claim().leases
    #expect(second.map(\.entry.id) == [ids[2]])
    #expect(try await trial.claim().leases.isEmpty)
    try await self.settle(trial, second[0], .success)
    #expect(try await trial.claimed() == [ids[3], ids[0]])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func ofTwoWaitsTheLaterOneIsTold(_ kind: StorageUnderTest) async throws {
    for (own, host) in [(4, 60), (60, 4)] {
      let trial = try OutboxTrial(kind)
      let ids = try await self.host(
        trial,
        failingWith: self.failure(
          .askedToWait(.seconds(host)), .wait(.backoff, .seconds(own))))
      let entry = try trial.entry(ids[0])
      #expect(entry.nextAttemptAt == trial.clock.wall + 60)
      #expect(entry.waitReason == (own < host ? .retryAfter : .backoff))
      let why = try trial.outbox.why(ids[0])
      #expect(why.contains(own < host ? "The host notes.example asked" : "in 60 s"), "\(why)")
    }
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func anAnswerToAnEarlierAttemptDoesNotEndTheWait(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<3 { try await trial.add() }
    let leases = try await trial.claim(limit: 2).leases
    try await self.settle(trial, leases[0], self.failure(.askedToWait(.seconds(60))))
    try await self.settle(trial, leases[1], .success)
    #expect(try await trial.claim().leases.isEmpty)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aHostThatIsNotReachedThreeTimesIsTriedLessOften(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<5 { try await trial.add() }
    let unreachable = self.failure(.unreachable(pause: .seconds(20)), .now, "connectivity")
    for _ in 0..<2 {
      let lease = try #require(try await trial.claim(limit: 1).leases.first)
      try await self.settle(trial, lease, unreachable)
    }
    // Two failures are no reason, and an answer begins the count anew.
    let answered = try await trial.claim(limit: 1).leases
    try await self.settle(trial, try #require(answered.first), .success)
    let leases = try await trial.claim(limit: 3).leases
    for lease in leases { try await self.settle(trial, lease, unreachable) }
    for seconds in [20, 40, 80, 160, 200, 200] {
      let held = try await trial.claim()
      #expect(held.leases.isEmpty)
      #expect(held.nextDue == .seconds(seconds))
      trial.clock.advance(by: .seconds(seconds))
      let probe = try await trial.claim().leases
      #expect(probe.count == 1)
      try await self.settle(trial, try #require(probe.first), unreachable)
    }
    // The network is back.
    try await trial.outbox.release(.offline)
    #expect(try await trial.claim().leases.count == 4)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aCallerMayTryAHostThatWasNotReached(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let unreachable = self.failure(.unreachable(pause: .seconds(20)), .now, "connectivity")
    let ids = try await self.host(trial, failingWith: unreachable)
    for id in ids[1...2] { try await trial.run(id, unreachable) }
    #expect(try await trial.claim().leases.isEmpty)
    try await trial.run(ids[3], .success)
    #expect(try await trial.claimed().count == 3)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func refusedCredentialsHoldTheHostUntilTheyChange(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let refused = self.failure(.refusedCredentials, .waitForCredentials, "authentication")
    let ids = try await self.host(trial, failingWith: refused)
    for _ in 0..<2 {
      let held = try await trial.claim()
      #expect(held.leases.isEmpty)
      #expect(held.nextDue == nil)
      #expect(try trial.entry(ids[3]).waitReason == .authentication)
      #expect(try trial.outbox.why(ids[3]).hasPrefix("The host notes.example refused"))
      try await trial.outbox.release(.authentication)
      let probe = try await trial.claim().leases
      #expect(probe.count == 1)
      try await self.settle(trial, try #require(probe.first), refused)
    }
    try await trial.outbox.release(.authentication)
    let probe = try #require(try await trial.claim().leases.first)
    try await self.settle(trial, probe, .success)
    #expect(try await trial.claimed().count == 3)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aRefusalOfOldCredentialsSaysNothing(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    for _ in 0..<3 { try await trial.add() }
    let lease = try #require(try await trial.claim(limit: 1).leases.first)
    try await trial.outbox.release(.authentication)
    try await self.settle(trial, lease, self.failure(.refusedCredentials, .waitForCredentials))
    #expect(try await trial.claimed().count == 3)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func theOneThatAPersonRetriesIsTheProbe(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let refused = self.failure(.refusedCredentials, .waitForCredentials, "authentication")
    let ids = try await self.host(trial, failingWith: refused)
    try await trial.outbox.retry(ids[0])
    #expect(try await trial.claimed() == [ids[0]])
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aProbeThatSaysNothingIsFollowedByAnother(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    _ = try await self.host(trial, failingWith: self.failure(.askedToWait(.seconds(60))))
    trial.clock.advance(by: .seconds(60))
    let first = try await trial.claim().leases
    try await self.settle(trial, try #require(first.first), self.failure(.nothing))
    #expect(try await trial.claim().leases.count == 1)
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aClaimOfOneLaneWaitsForItsHost(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    _ = try await self.host(trial, failingWith: self.failure(.askedToWait(.seconds(60))))
    try await trial.add(lane: "lane") { $0.host = "notes.example" }
    let answer = try await trial.outbox.claim(
      ClaimRequest(.lowest(handledBy: [.handler("note")]), lane: "lane"))
    #expect(answer.leases.isEmpty)
    #expect(answer.nextDue == .seconds(60))
  }

  @Test(arguments: StorageUnderTest.withOutbox)
  func aLeaseSaysWhetherTheHostAnswersOthers(_ kind: StorageUnderTest) async throws {
    let trial = try OutboxTrial(kind)
    let lost = self.failure(.unreachable(pause: .seconds(20)), .now, "connectivity")
    let ids = [try await trial.add(), try await trial.add()]
    let first = try await trial.lease(ids[0])
    #expect(first.earlier == EarlierAttempts())
    try await self.settle(trial, first, lost)
    let second = try await trial.lease(ids[0])
    #expect(second.earlier == EarlierAttempts(endedUnreached: true, hostAnswers: false))
    try await self.settle(trial, second, lost)
    try await trial.run(ids[1], .success)
    let third = try await trial.lease(ids[0])
    #expect(third.earlier == EarlierAttempts(endedUnreached: true, hostAnswers: true))
  }

  @Test func aHostThatIsWellHasNoRow() async throws {
    let scratch = try OutboxScratch()
    func count() throws -> [String] {
      try scratch.rows(
        "SELECT (SELECT count(*) FROM hosts) || ' ' || (SELECT ill_hosts FROM partitions)")
    }
    for _ in 0..<2 { try await scratch.add() }
    let lease = try #require(try await scratch.claim().first)
    _ = try await scratch.outbox.settle(
      lease, self.failure(.unreachable(pause: .seconds(20)), .now, "connectivity"))
    #expect(try count() == ["1 1"])
    let next = try #require(try await scratch.claim().first)
    _ = try await scratch.outbox.settle(next, .success)
    #expect(try count() == ["0 0"])
    let last = try #require(try await scratch.claim().first)
    _ = try await scratch.outbox.settle(last, self.failure(.refusedCredentials))
    #expect(try count() == ["1 1"])
    try await scratch.storage.erase()
    #expect(try scratch.rows("SELECT count(*) FROM hosts") == ["0"])
    try await scratch.storage.close()
  }
}
