import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct MutationLeaseTests {
  private let lease = MutationLease(
    entry: OutboxEntry(
      id: UUID(), number: 1, name: "a", instance: "i", idempotencyKey: "key",
      createdAt: Date(), coder: "json", arguments: Data()),
    isReplay: false, token: 1, epoch: 0)
  private let heard = Recorder<MutationLease.Revocation>()

  @Test func aRevocationIsTold() {
    self.lease.whenRevoked { [heard] in heard.append($0) }
    #expect(self.lease.revocation == nil)
    self.lease.revoke(.cancelRequested)
    #expect(self.lease.revocation == .cancelRequested)
    #expect(self.heard.elements == [.cancelRequested])
  }

  @Test func aRevocationThatCameBeforeIsToldAtOnce() {
    self.lease.revoke(.lost)
    self.lease.whenRevoked { [heard] in heard.append($0) }
    #expect(self.heard.elements == [.lost])
  }

  @Test func progressIsToldUntilTheAttemptHasEnded() {
    let told = Recorder<Int64>()
    self.lease.note(MutationProgress(sent: 1, total: 10))
    self.lease.whenProgressed { told.append($0.sent) }
    self.lease.note(MutationProgress(sent: 1, total: 10))
    self.lease.note(MutationProgress(sent: 10, total: 10))
    self.lease.endProgress()
    self.lease.note(MutationProgress(sent: 0, total: 10))
    #expect(told.elements == [10])
  }

  @Test func stepsAreCountedHoweverSmall() {
    self.lease.note(MutationProgress(sent: 0, total: 100_000_000))
    #expect(self.lease.steps == 0)
    for sent in [Int64]([1, 2, 2, 3]) {
      self.lease.note(MutationProgress(sent: sent, total: 100_000_000))
    }
    #expect(self.lease.steps == 3)
    // It has begun again.
    for sent in [0, 1] { self.lease.note(MutationProgress(sent: Int64(sent), total: 100_000_000)) }
    #expect(self.lease.steps == 4)
  }

  @Test func beingGivenUpIsToldOnceAndLateListenersToo() {
    let told = Recorder<Int>()
    self.lease.whenGivenUp { told.append(1) }
    #expect(!self.lease.isGivenUp)
    self.lease.giveUp()
    self.lease.giveUp()
    #expect(self.lease.isGivenUp && told.elements == [1])
    self.lease.whenGivenUp { told.append(2) }
    #expect(told.elements == [1, 2])
    #expect(self.lease.revocation == nil, "it is still this process's")
  }

  @Test func theSameRevocationIsToldOnce() {
    self.lease.whenRevoked { [heard] in heard.append($0) }
    self.lease.revoke(.cancelRequested)
    self.lease.revoke(.cancelRequested)
    #expect(self.heard.elements == [.cancelRequested])
  }

  @Test func aLeaseThatShouldEndMayStillBeLostAndStaysSo() {
    self.lease.whenRevoked { [heard] in heard.append($0) }
    self.lease.revoke(.cancelRequested)
    self.lease.revoke(.lost)
    self.lease.revoke(.cancelRequested)
    #expect(self.lease.revocation == .lost)
    #expect(self.heard.elements == [.cancelRequested, .lost])
  }

  @Test func whoeverIsToldMayAskAndLeave() {
    let lease = self.lease
    lease.whenRevoked { [heard] _ in
      if let revocation = lease.revocation { heard.append(revocation) }
      lease.whenRevoked(nil)
    }
    lease.revoke(.cancelRequested)
    lease.revoke(.lost)
    #expect(self.heard.elements == [.cancelRequested])
  }
}
