import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Query

/// An attempt ends, whatever the mutation does that it calls.
@Suite struct AttemptCallTests {
  private static let entry = OutboxEntry(
    id: UUID(), number: 1, name: "a", instance: "", version: 1, state: .leased,
    idempotencyKey: "k", createdAt: Date(timeIntervalSince1970: 0), coder: "json",
    arguments: Data())

  private let lease = MutationLease(entry: Self.entry, isReplay: false, token: 1, epoch: 0)

  @Test func aCallThatEndsIsTheAttempts() async {
    let call = AttemptCall<Int>(grace: .seconds(3_600))
    let ending = await call.run(self.lease, limit: .seconds(3_600)) { 7 }
    guard case .ended(.success(7), cancelled: nil) = ending else {
      Issue.record("\(ending)")
      return
    }
  }

  @Test func aLostLeaseEndsTheAttemptOfACallThatNeverEnds() async throws {
    let gate = Gate()
    let call = AttemptCall<Int>(grace: .seconds(3_600))
    async let ending = call.run(self.lease, limit: nil) {
      await gate.passIgnoringCancellation()
      return 1
    }
    await gate.arrival()
    self.lease.revoke(.lost)
    guard case .leftBehind(.leaseLost) = await ending else {
      Issue.record("not lost")
      return
    }
    gate.open()
  }

  @Test func aCancellationHandlerThatBlocksDoesNotKeepTheStorageThatRevokes() async throws {
    let (began, released) = (Gate(), DispatchSemaphore(value: 0))
    let call = AttemptCall<Int>(grace: .seconds(3_600))
    async let ending = call.run(self.lease, limit: nil) {
      try await withTaskCancellationHandler {
        try await began.pass()
        return 1
      } onCancel: {
        released.wait()
      }
    }
    await began.arrival()
    self.lease.revoke(.lost)
    guard case .leftBehind(.leaseLost) = await ending else {
      Issue.record("not lost")
      return
    }
    released.signal()
    began.open()
  }

  @Test func aCancelledCallThatEndsIsHeard() async throws {
    let gate = Gate()
    let call = AttemptCall<Int>(grace: .seconds(3_600))
    async let ending = call.run(self.lease, limit: nil) {
      try await gate.pass()
      return 1
    }
    await gate.arrival()
    self.lease.revoke(.cancelRequested)
    guard case .ended(.failure(let error), cancelled: .requested) = await ending else {
      Issue.record("not heard")
      return
    }
    #expect(error is CancellationError)
  }

  @Test func aCallThatGoesOnAfterItsTimeIsLeftBehind() async throws {
    let gate = Gate()
    let call = AttemptCall<Int>(grace: .milliseconds(1))
    let ending = await call.run(self.lease, limit: .milliseconds(1)) {
      await gate.passIgnoringCancellation()
      return 1
    }
    guard case .leftBehind(.timeLimit) = ending else {
      Issue.record("\(ending)")
      return
    }
    gate.open()
  }

  /// Work that keeps its thread from the beginning on is cancelled as any other.
  @Test(.timeLimit(.minutes(10))) func aCallThatWaitsForNothingNoticesThatItIsCancelled() async {
    let (call, lease) = (AttemptCall<Int>(grace: .seconds(3_600)), self.lease)
    let ending = await call.run(lease, limit: nil) {
      lease.revoke(.cancelRequested)
      while !Task.isCancelled { sched_yield() }
      return 1
    }
    guard case .ended(.success(1), cancelled: .requested) = ending else {
      Issue.record("\(ending)")
      return
    }
  }

  @Test func aCallWhoseLeaseIsLostIsNotMade() async {
    let (call, hasBegun) = (AttemptCall<Int>(grace: .seconds(3_600)), Locked(false))
    self.lease.revoke(.lost)
    let ending = await call.run(self.lease, limit: nil) {
      hasBegun.withLock { $0 = true }
      return 1
    }
    guard case .leftBehind(.leaseLost) = ending else {
      Issue.record("\(ending)")
      return
    }
    #expect(!hasBegun.withLock { $0 })
  }
}
