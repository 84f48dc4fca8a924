import Foundation
import Testing

@testable import Query

/// How a row is shown, and why it does not run.
@Suite struct OutboxViewTests {
  private let now = OutboxTime(
    wall: Date(timeIntervalSince1970: 1_000), boottime: 1_000_000, monotonic: 0, bootID: "boot",
    isSynchronised: true)

  private func view(_ pauses: OutboxPauses = [:], _ handlers: Set<MutationHandler>? = nil)
    -> OutboxView
  {
    OutboxView(pauses: pauses, handlers: handlers, now: self.now)
  }

  private func entry() -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: "rename", instance: "i", idempotencyKey: "key",
      createdAt: Date(), coder: "json", arguments: Data())
  }

  private func shown(
    _ wait: OutboxWait, isHead: Bool = true, hasDependencies: Bool = false, _ view: OutboxView
  ) -> (reason: MutationWaitReason?, clause: String, nextAttemptAt: Date?) {
    var standing = OutboxStanding()
    standing.wait = wait
    var entry = self.entry()
    entry.show(standing, isHead: isHead, hasDependencies: hasDependencies, in: view)
    let other = self.entry()
    let clause = entry.clause(
      standing, in: view, owner: ("a process", false), predecessor: other,
      dependency: hasDependencies ? other : nil)
    return (entry.waitReason, "\(clause)", entry.nextAttemptAt)
  }

  @Test func theFirstReasonThatHoldsIsReported() {
    let wait = OutboxWait.time(.retryAfter, OutboxDelay(.seconds(9), from: self.now))
    let paused = self.view([.everything: self.now.wall], [])
    let other = self.view([:], [])
    let steps: [(MutationWaitReason?, String, (OutboxWait, Bool, Bool, OutboxView))] = [
      (.paused, "is paused since", (wait, false, true, paused)),
      (.predecessor, "is before it in its lane", (wait, false, true, other)),
      (.dependency, "It depends on", (wait, true, true, other)),
      (.dependency, "the alias x", (.alias("x"), true, false, other)),
      (.authentication, "other credentials", (.credentials, true, false, other)),
      (.retryAfter, "in 9 s, as the server asked", (wait, true, false, other)),
      (.offline, "for the network", (.time(.offline, nil), true, false, other)),
      (.handler, "no handler for “rename” in version 1", (.nothing, true, false, other)),
      (nil, "It is due", (.nothing, true, false, self.view())),
      (nil, "It is due", (.time(.backoff, nil), true, false, self.view())),
    ]
    for (reason, words, (wait, isHead, hasDependencies, view)) in steps {
      let shown = self.shown(wait, isHead: isHead, hasDependencies: hasDependencies, view)
      #expect(shown.reason == reason)
      #expect(shown.clause.contains(words))
    }
  }

  @Test func theTimeOfTheNextAttemptIsOneToCome() {
    let delay = OutboxDelay(.seconds(9), from: self.now)
    let shown = self.shown(.time(.backoff, delay), self.view())
    #expect(shown.nextAttemptAt == Date(timeIntervalSince1970: 1_009))
    #expect(self.shown(.time(.offline, nil), self.view()).nextAttemptAt == nil)
  }

  @Test func whatRunsTellsWhoRunsItAndSinceWhen() {
    var standing = OutboxStanding()
    standing.begin(
      OutboxStanding.Lease(owner: "a", endMonotonic: 9, bootID: "boot", startedAt: 5_000_000),
      credentialsEpoch: 0)
    var entry = self.entry()
    entry.show(standing, isHead: true, hasDependencies: false, in: self.view())
    #expect(entry.state == .leased)
    #expect(entry.attempts == 1)
    func clause(hasEnded: Bool = false) -> String {
      let clause = entry.clause(
        standing, in: self.view(), owner: ("process 7", hasEnded), predecessor: nil,
        dependency: nil)
      return "\(clause)"
    }
    #expect(clause() == "It runs in process 7 since 1970-01-01T00:00:05Z.")
    standing.lease?.startedAt = 0
    #expect(clause() == "It runs in process 7.")
    let left = "It ran in process 7, which has ended: whoever sends next "
    #expect(clause(hasEnded: true) == left + "takes it over.")
    standing.isCancelRequested = true
    #expect(clause() == "It runs in process 7, which was asked to cancel it.")
    #expect(clause(hasEnded: true) == left + "ends it, as was asked.")
  }

  @Test func aDeadOneTellsItsReason() {
    var standing = OutboxStanding()
    standing.kill(.expired)
    var entry = self.entry()
    entry.show(standing, isHead: false, hasDependencies: true, in: self.view())
    #expect(entry.deadReason == .expired)
    #expect(entry.waitReason == nil)
    let clause = entry.clause(
      standing, in: self.view(), owner: ("a process", false), predecessor: nil, dependency: nil)
    #expect("\(clause)".hasPrefix("It is dead (expired)"))
  }
}
