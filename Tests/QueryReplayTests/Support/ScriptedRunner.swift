import Foundation
import Query
import TestSupport

@testable import QueryReplay

/// A runner that does what the test says, and settles its leases as the real one does.
final class ScriptedRunner: DurableRunner {
  /// How an attempt ends.
  enum End: Sendable {
    case success
    case failure(MutationFailure, FailedAttempt.Next)
  }

  typealias Script = @Sendable (MutationLease) async throws -> End

  let handler: MutationHandler
  let requestType: any Any.Type
  let isAttemptedWhileOffline: Bool
  /// The attempts so far, in the order of their begin.
  let calls = Recorder<MutationLease>()
  /// How many attempts run at the moment, and how many ran at most.
  let load = Locked((now: 0, most: 0, byHost: [String: Int](), mostByHost: [String: Int]()))

  private let outbox: any MutationOutbox
  private let script: Script

  init(
    _ name: String = "edit",
    instance: String = "",
    version: Int = 1,
    type: any Any.Type = ScriptedRunner.self,
    isAttemptedWhileOffline: Bool = false,
    outbox: any MutationOutbox,
    script: @escaping Script = { _ in .success }
  ) {
    self.handler = MutationHandler(
      name: name, instance: instance, version: version, upgradesOlder: false)
    self.requestType = type
    self.isAttemptedWhileOffline = isAttemptedWhileOffline
    self.outbox = outbox
    self.script = script
  }

  /// It has none.
  func declareEdits() {}

  func run(_ lease: MutationLease) async -> AttemptReport {
    let host = lease.entry.effectiveHost
    self.load.withLock { load in
      load.now += 1
      load.most = max(load.most, load.now)
      load.byHost[host, default: 0] += 1
      load.mostByHost[host] = max(load.mostByHost[host] ?? 0, load.byHost[host] ?? 0)
    }
    self.calls.append(lease)
    let script = Task {
      do {
        return try await self.script(lease)
      } catch {
        return End.failure(.cancelled, .now)
      }
    }
    lease.whenGivenUp { script.cancel() }
    let end = await withTaskCancellationHandler {
      await script.value
    } onCancel: {
      script.cancel()
    }
    self.load.withLock { load in
      load.now -= 1
      load.byHost[host]? -= 1
    }
    return await self.settle(lease, end)
  }

  private func settle(_ lease: MutationLease, _ end: End) async -> AttemptReport {
    let outcome: AttemptOutcome
    let report: AttemptReport
    switch end {
    case .success:
      outcome = .succeeded(SuccessfulAttempt(result: nil))
      report = .succeeded
    case .failure(let failure, let next):
      let error = RestoredError(typeName: "Scripted", text: "\(failure)")
      let word = failure == .connectivity ? "connectivity" : "scripted"
      outcome = .failed(
        FailedAttempt(
          error: error, outcome: word, isCharged: failure.isCharged, maybeApplied: false,
          next: next))
      report = Self.report(failure, next)
    }
    let isHeld = (try? await self.outbox.settle(lease, outcome)) ?? false
    return isHeld ? report : .leaseLost
  }

  private static func report(
    _ failure: MutationFailure, _ next: FailedAttempt.Next
  ) -> AttemptReport {
    switch next {
    case .wait(let reason, _): .pending(failure, reason)
    case .waitForCredentials: .pending(failure, .authentication)
    case .waitForHandler: .pending(failure, .handler)
    case .waitForAlias: .pending(failure, .dependency)
    case .dead(let reason): .dead(reason)
    case .drop: .superseded
    case .now, .retry: .pending(failure, nil)
    }
  }
}
