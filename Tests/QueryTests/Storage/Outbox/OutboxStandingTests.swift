import Foundation
import Testing

@testable import Query

/// The rules of a mutation's life, without an outbox.
@Suite struct OutboxStandingTests {
  private typealias Sequel = OutboxStanding.Sequel

  private let id = UUID()

  private static let over = OutboxDelay(
    endAt: 100_000_000, endBoottime: 100_000_000, bootID: "boot", length: 0)

  private func time(_ seconds: Int = 100) -> OutboxTime {
    OutboxTime(
      wall: Date(timeIntervalSince1970: Double(seconds)), boottime: seconds * 1_000_000,
      monotonic: 0, bootID: "boot", isSynchronised: true)
  }

  private func delay(_ seconds: Int) -> OutboxDelay {
    OutboxDelay(.seconds(seconds), from: self.time())
  }

  private func leased(credentialsEpoch: Int64 = 0) -> OutboxStanding {
    var standing = OutboxStanding()
    standing.begin(
      OutboxStanding.Lease(owner: "a", endMonotonic: 9, bootID: "boot", startedAt: 1),
      credentialsEpoch: credentialsEpoch)
    return standing
  }

  private func dead(_ reason: MutationDeadReason = .rejected) -> OutboxStanding {
    var standing = OutboxStanding()
    standing.kill(reason)
    return standing
  }

  private func failure(
    _ next: FailedAttempt.Next,
    _ outcome: String = "transient",
    isCharged: Bool = true,
    maybeApplied: Bool = false
  ) -> AttemptOutcome {
    .failed(
      FailedAttempt(
        error: RestoredError(typeName: "Failure", text: "it failed"), outcome: outcome,
        isCharged: isCharged, maybeApplied: maybeApplied, next: next))
  }

  private func settle(
    _ standing: inout OutboxStanding,
    _ outcome: AttemptOutcome,
    _ prospect: OutboxStanding.AliasProspect = .published,
    credentialsEpoch: Int64 = 0
  ) -> Sequel {
    standing.settle(outcome, prospect, credentialsEpoch: credentialsEpoch, at: self.time())
  }
}

// MARK: - Attempts

extension OutboxStandingTests {
  @Test func anAttemptIsCountedAndTellsItsLeaseFromEarlierOnes() {
    var standing = self.leased(credentialsEpoch: 3)
    #expect(standing.state == .leased)
    #expect(standing.attempts == 1)
    #expect(standing.credentialsEpoch == 3)
    #expect(standing.isLeased(by: "a", token: 1))
    #expect(!standing.isLeased(by: "b", token: 1))
    #expect(!standing.isLeased(by: "a", token: 2))
    standing.makePending()
    #expect(!standing.isLeased(by: "a", token: 1))
    standing.token = .max
    standing.begin(
      OutboxStanding.Lease(owner: "a", endMonotonic: 9, bootID: "boot", startedAt: 1),
      credentialsEpoch: 3)
    #expect(standing.isLeased(by: "a", token: .min))
  }

  @Test func aSuccessEndsTheRowWithItsWarning() {
    var standing = self.leased()
    let warning = RestoredError(typeName: "Warning", text: "the result is left out")
    let outcome = AttemptOutcome.succeeded(SuccessfulAttempt(result: nil, warning: warning))
    #expect(self.settle(&standing, outcome) == .ended(.succeeded))
    #expect(standing.lastError == warning)
    #expect(standing.state == .leased, "the outbox counts it as what it was")
  }

  @Test(arguments: [true, false])
  func aCancelledAttemptEndsTheRow(_ maybeApplied: Bool) {
    var standing = self.leased()
    let sequel = self.settle(&standing, .cancelled(maybeApplied: maybeApplied))
    #expect(sequel == .ended(.cancelled))
    #expect(standing.maybeApplied == maybeApplied)
  }

  @Test(arguments: [true, false])
  func aFailureIsNoted(_ isCharged: Bool) {
    var standing = self.leased()
    standing.crashCount = 4
    let outcome = self.failure(.now, "conflict", isCharged: isCharged, maybeApplied: true)
    #expect(self.settle(&standing, outcome) == .pending)
    #expect(standing.failures == (isCharged ? 1 : 0))
    #expect(standing.crashCount == 0)
    #expect(standing.maybeApplied)
    #expect(standing.lastFailure == "conflict")
    #expect(standing.failedAt == 100_000_000)
    #expect(standing.lastError?.text == "it failed")
    #expect(standing.lease == nil)
  }

  @Test func whatMayHaveBeenAppliedStaysSo() {
    var standing = self.leased()
    standing.maybeApplied = true
    _ = self.settle(&standing, self.failure(.now))
    #expect(standing.maybeApplied)
  }

  @Test func aFailureSaysWhatFollows() {
    let retry = FailedAttempt.Next.retry(arguments: Data(), key: "key", after: .seconds(5))
    let atOnce = FailedAttempt.Next.retry(arguments: Data(), key: "key", after: .zero)
    let expected: [(FailedAttempt.Next, Sequel, OutboxWait)] = [
      (.now, .pending, .time(.backoff, self.delay(0))),
      (.wait(.retryAfter, .seconds(5)), .pending, .time(.retryAfter, self.delay(5))),
      (.waitForCredentials, .pending, .credentials),
      (retry, .pending, .time(.backoff, self.delay(5))),
      (atOnce, .pending, .time(.backoff, self.delay(0))),
      (.dead(.conflict), .dead(.conflict), .nothing),
      (.drop, .ended(.superseded), .nothing),
    ]
    for (next, sequel, wait) in expected {
      var standing = self.leased()
      #expect(self.settle(&standing, self.failure(next)) == sequel)
      #expect(standing.wait == wait)
    }
  }

  @Test func aRowThatWasRefusedWithOldCredentialsIsTriedWithTheNewOnes() {
    var standing = self.leased(credentialsEpoch: 1)
    let outcome = self.failure(.waitForCredentials)
    #expect(self.settle(&standing, outcome, credentialsEpoch: 2) == .pending)
    #expect(standing.wait == .time(.backoff, self.delay(0)))
  }

  @Test(
    arguments: [
      (.published, .pending, .time(.backoff, Self.over)), (.awaited, .pending, .alias("x")),
      (.vain, .dead(.dependency), .nothing),
    ] as [(OutboxStanding.AliasProspect, OutboxStanding.Sequel, OutboxWait)])
  func anAliasIsAwaitedOnlyIfItCanBePublished(
    _ prospect: OutboxStanding.AliasProspect, _ sequel: OutboxStanding.Sequel, _ wait: OutboxWait
  ) {
    var standing = self.leased()
    #expect(self.settle(&standing, self.failure(.waitForAlias("x")), prospect) == sequel)
    #expect(standing.wait == wait)
  }

  @Test func aRequestedCancellationTakesEffectUnlessTheAttemptSucceeds() {
    var standing = self.leased()
    #expect(standing.cancel() == nil)
    var succeeded = standing
    let success = AttemptOutcome.succeeded(SuccessfulAttempt(result: nil))
    #expect(self.settle(&succeeded, success) == .ended(.succeeded))
    var failed = standing
    #expect(self.settle(&failed, self.failure(.dead(.rejected))) == .ended(.cancelled))
    #expect(failed.failures == 1)
    #expect(
      standing.lose(.crash(isAlone: true, hasRunLong: false), at: self.time()) == .ended(.cancelled)
    )
  }

  @Test func theFifthCrashIsTheLast() {
    var standing = OutboxStanding()
    let lease = OutboxStanding.Lease(owner: "a", endMonotonic: 9, bootID: "boot", startedAt: 1)
    for crash in 1...5 {
      standing.begin(lease, credentialsEpoch: 0)
      #expect(
        standing.lose(.crash(isAlone: true, hasRunLong: false), at: self.time())
          == (crash < 5 ? .pending : .dead(.crashLoop)))
    }
    #expect(standing.maybeApplied)
    #expect(standing.deadReason == .crashLoop)
  }

  @Test func oneOfSeveralIsASuspectUntilAnAttemptEnds() {
    var standing = self.leased()
    let sequel = standing.lose(.crash(isAlone: false, hasRunLong: false), at: self.time())
    #expect(sequel == .pending)
    #expect(standing.isSuspect)
    #expect(standing.crashCount == 0)
    standing.begin(
      OutboxStanding.Lease(owner: "a", endMonotonic: 9, bootID: "boot", startedAt: 1),
      credentialsEpoch: 0)
    _ = self.settle(&standing, self.failure(.now))
    #expect(!standing.isSuspect)
  }

  @Test(arguments: [true, false])
  func whatHasRunLongIsNotBlamed(_ isAlone: Bool) {
    var standing = self.leased()
    _ = standing.lose(.crash(isAlone: isAlone, hasRunLong: true), at: self.time())
    #expect(standing.crashCount == 0)
    #expect(!standing.isSuspect)
    #expect(standing.maybeApplied)
  }

  @Test func anExtensionShowsHowLongAnAttemptHasRun() {
    func lease(_ start: Int64, _ end: Int64) -> OutboxStanding.Lease {
      OutboxStanding.Lease(
        owner: "a", endMonotonic: end * 1_000_000, bootID: "boot",
        startedMonotonic: start * 1_000_000, startedAt: 1)
    }
    #expect(!lease(100, 160).hasRunLong(.seconds(60)))
    #expect(!lease(100, 189).hasRunLong(.seconds(60)))
    #expect(lease(100, 190).hasRunLong(.seconds(60)))
    #expect(!lease(0, 190).hasRunLong(.seconds(60)), "unknown")
  }

  @Test func unknownFailuresAreCountedApartFromTheFirstOn() throws {
    var standing = self.leased()
    let failure = FailedAttempt(
      error: RestoredError(typeName: "Failure", text: "?"), outcome: "transient", isCharged: true,
      isUnknown: true, maybeApplied: true, next: .now)
    _ = self.settle(&standing, self.failure(.now))
    #expect(standing.earlierAttempts(self.time(), synchronisedAt: nil) == EarlierAttempts())
    for _ in 0..<2 { _ = self.settle(&standing, .failed(failure)) }
    let earlier = standing.earlierAttempts(self.time(160), synchronisedAt: nil)
    #expect(earlier == EarlierAttempts(unknownFailures: 2, unknownFor: .seconds(60)))
    standing.kill(.exhausted)
    _ = try standing.retry(self.id)
    #expect(standing.earlierAttempts(self.time(), synchronisedAt: nil) == EarlierAttempts())
  }

  @Test func aLeaseThatRanOutIsNoCrash() {
    var standing = self.leased()
    #expect(standing.lose(.release, at: self.time()) == .pending)
    #expect(standing.crashCount == 0)
    #expect(standing.maybeApplied)
    #expect(standing.lease == nil)
  }
}

// MARK: - Changes

extension OutboxStandingTests {
  @Test func aRetryMakesADeadRowLiveAndAWaitingOneDue() throws {
    var dead = self.dead()
    (dead.failures, dead.crashCount, dead.attempts) = (3, 5, 7)
    #expect(try dead.retry(self.id))
    #expect(dead.state == .pending)
    #expect(dead.deadReason == nil)
    #expect((dead.failures, dead.crashCount, dead.attempts) == (0, 0, 7))
    var waiting = OutboxStanding()
    waiting.makePending(.credentials)
    waiting.failures = 2
    #expect(try !waiting.retry(self.id))
    #expect(waiting.wait == .nothing)
    #expect(waiting.failures == 2)
  }

  @Test func whatRunsIsNeitherRetriedNorDiscarded() {
    let before = self.leased()
    var standing = before
    let id = self.id
    #expect(throws: OutboxError.running(id)) { try standing.retry(id) }
    #expect(throws: OutboxError.running(id)) { try before.discard(id) }
    #expect(standing == before)
  }

  @Test func onlyADeadRowIsDiscarded() throws {
    let id = self.id
    #expect(throws: OutboxError.notDead(id)) { try OutboxStanding().discard(id) }
    #expect(try self.dead().discard(id) == .ended(.discarded))
  }

  @Test func whatNoProcessRunsIsCancelledAtOnce() {
    var (pending, dead) = (OutboxStanding(), self.dead())
    #expect(pending.cancel() == .ended(.cancelled))
    #expect(dead.cancel() == .ended(.cancelled))
    #expect(!dead.isCancelRequested)
  }

  /// So that those that failed first go first.
  @Test func whatIsReleasedIsDueSinceItFailed() {
    var standing = self.leased()
    _ = self.settle(&standing, self.failure(.waitForCredentials))
    let isReleased = standing.release(.authentication, at: self.time(130))
    #expect(isReleased)
    #expect(standing.dueBoottime(self.time(130)) == 100_000_000)
    #expect(standing.remaining(self.time(130)) == 0)
  }

  @Test func whatWasNeverTriedIsDueAtOnceWhenItsTimeHasCome() {
    var standing = OutboxStanding()
    standing.makePending(.time(.backoff, self.delay(5)))
    #expect(standing.dueBoottime(self.time(104)) == 105_000_000)
    #expect(standing.dueBoottime(self.time(106)) == 0)
    standing.attempts = 1
    #expect(standing.dueBoottime(self.time(106)) == 105_000_000)
  }

  @Test func aReleaseLetsOnlyItsOwnWaitsEnd() {
    let backoff = OutboxWait.time(.backoff, self.delay(60))
    let connectivity = MutationFailure.connectivity.word
    let expected: [(OutboxWait, String?, MutationWaitReason, Bool)] = [
      (.credentials, nil, .authentication, true),
      (.credentials, connectivity, .offline, false),
      (.time(.offline, nil), nil, .offline, true),
      (.time(.offline, nil), nil, .authentication, false),
      (backoff, connectivity, .offline, true),
      (backoff, "transient", .offline, false),
      (.alias("x"), connectivity, .offline, false),
      (backoff, connectivity, .backoff, false),
      (.nothing, connectivity, .offline, false),
    ]
    for (wait, failure, reason, isReleased) in expected {
      var standing = OutboxStanding()
      (standing.wait, standing.lastFailure) = (wait, failure)
      #expect(standing.release(reason, at: self.time()) == isReleased)
      #expect(standing.wait == (isReleased ? .nothing : wait))
    }
  }
}

// MARK: - Questions

extension OutboxStandingTests {
  @Test func aDeadRowHoldsItsLaneOnlyIfItHalts() {
    #expect(OutboxStanding().holdsLane("lane", .continue))
    #expect(self.leased().holdsLane(nil, .continue))
    #expect(self.dead().holdsLane("lane", .halt))
    #expect(!self.dead().holdsLane("lane", .continue))
    #expect(!self.dead().holdsLane(nil, .halt))
  }

  @Test func aRowIsReadyIfItWaitsForNothingItself() {
    var standing = OutboxStanding()
    #expect(standing.isReady(hasDependencies: false, at: self.time()))
    #expect(!standing.isReady(hasDependencies: true, at: self.time()))
    standing.makePending(.time(.offline, self.delay(5)))
    #expect(standing.remaining(self.time(104)) == 1_000_000)
    #expect(!standing.isReady(hasDependencies: false, at: self.time(104)))
    #expect(standing.isReady(hasDependencies: false, at: self.time(105)))
    standing.makePending(.alias("x"))
    #expect(!standing.isReady(hasDependencies: false, at: self.time(105)))
    #expect(!self.leased().isReady(hasDependencies: false, at: self.time()))
    #expect(!self.dead().isReady(hasDependencies: false, at: self.time()))
  }
}
