import Foundation
import TestSupport
import Testing

@testable import Query
@testable import QueryReplay

@Suite struct LinkWatchTests {
  private var watch = LinkWatch()

  private func lease() -> MutationLease {
    MutationLease(
      entry: OutboxEntry(
        id: UUID(), number: 1, name: "edit", instance: "", idempotencyKey: "",
        createdAt: Date(timeIntervalSince1970: 0), coder: "json", arguments: Data()),
      isReplay: true, token: 1, epoch: 0)
  }

  /// How many are taken, which are given up then.
  private mutating func taken(link: Int, at now: Duration) -> Int {
    let leases = self.watch.takeHanging(link: link, at: now)
    for lease in leases { lease.giveUp() }
    return leases.count
  }

  @Test mutating func whatIsOfTheNetworkOfNowIsNotLookedAt() {
    self.watch.begin([self.lease()], isProbe: false, link: 1)
    #expect(self.taken(link: 1, at: .seconds(100)) == 0)
    #expect(self.watch.next == nil)
  }

  @Test mutating func whatHangsIsGivenUpOnceAfterSomeSeconds() {
    let lease = self.lease()
    self.watch.begin([lease], isProbe: false, link: 0)
    #expect(self.taken(link: 1, at: .seconds(1)) == 0)
    #expect(self.watch.next == .seconds(6))
    #expect(self.taken(link: 1, at: .seconds(5)) == 0)
    // The network that comes and goes does not give it more time.
    #expect(self.taken(link: 2, at: .seconds(6)) == 1)
    #expect(self.watch.next == nil)
    #expect(self.taken(link: 2, at: .seconds(60)) == 0)
    self.watch.end(lease.entry.id)
  }

  @Test mutating func whatMovesHasMoreTime() {
    let lease = self.lease()
    self.watch.begin([lease], isProbe: true, link: 0)
    lease.note(MutationProgress(sent: 1, total: 100_000_000))
    #expect(self.taken(link: 1, at: .zero) == 0, "a probe that has sent something")
    // A step of which nobody is told.
    lease.note(MutationProgress(sent: 2, total: 100_000_000))
    #expect(self.taken(link: 1, at: .seconds(5)) == 0)
    #expect(self.watch.next == .seconds(10))
    lease.note(MutationProgress(sent: 2, total: 100_000_000))
    #expect(self.taken(link: 1, at: .seconds(10)) == 1)
  }

  @Test mutating func probeThatHasSentNothingIsOverAtOnce() {
    self.watch.begin([self.lease()], isProbe: true, link: 0)
    #expect(self.taken(link: 1, at: .zero) == 1)
  }

  @Test mutating func callOfSeveralIsGivenUpAsOne() {
    let leases = [self.lease(), self.lease()]
    self.watch.begin(leases, isProbe: false, link: 0)
    #expect(self.taken(link: 1, at: .zero) == 0)
    leases[1].note(MutationProgress(sent: 1))
    #expect(self.taken(link: 1, at: .seconds(5)) == 0)
    self.watch.end(leases[0].entry.id)
    #expect(self.taken(link: 1, at: .seconds(10)) == 2)
    self.watch.end(leases[1].entry.id)
    #expect(self.taken(link: 2, at: .seconds(100)) == 0)
  }

  @Test mutating func oneThatWasGivenUpHasMoreTimeEachTimeUntilItEndsByItself() {
    let lease = self.lease()
    for seconds in [0, 10, 20, 40, 80, 160, 320, 320] {
      let again = MutationLease(entry: lease.entry, isReplay: true, token: 1, epoch: 0)
      self.watch.begin([again], isProbe: true, link: 0)
      if seconds > 0 {
        #expect(self.taken(link: 1, at: .zero) == 0)
        #expect(self.watch.next == .seconds(seconds))
      }
      #expect(self.taken(link: 1, at: .seconds(seconds)) == 1)
      self.watch.end(lease.entry.id)
    }
    let last = MutationLease(entry: lease.entry, isReplay: true, token: 1, epoch: 0)
    self.watch.begin([last], isProbe: true, link: 0)
    self.watch.end(lease.entry.id)
    self.watch.begin([self.lease()], isProbe: true, link: 0)
    #expect(self.taken(link: 1, at: .zero) == 1)
  }
}
