import Foundation
import Query
import TestSupport
import Testing

/// Random walks of two outboxes side by side: what one does, the other has to do.
///
/// The memory's is the reference. The seed of a walk that fails is its argument; `SEED` repeats it.
@Suite struct OutboxModelTests {
  /// The pairs that are compared: each other outbox with the memory's.
  static let others = StorageUnderTest.withOutbox.filter { $0 != .memory }

  @Test(arguments: Self.others, SeededGenerator.seeds(8))
  func everyOutboxDoesWhatTheReferenceDoes(
    _ kind: StorageUnderTest, _ seed: UInt64
  ) async throws {
    _ = try await self.walk(kind, seed: seed, steps: 250)
  }

  /// The walk itself, on two of the reference, so that a mistake in it is not taken for one of theirs.
  @Test(arguments: SeededGenerator.seeds(10))
  func theReferenceDoesTheSameTwice(_ seed: UInt64) async throws {
    _ = try await self.walk(.memory, seed: seed, steps: 300)
  }

  @Test func theWalksMeetEveryStateReasonEndAndRefusal() async throws {
    var met = OutboxCoverage()
    for seed in UInt64(1)...8 {
      met.formUnion(try await self.walk(.memory, seed: seed, steps: 250))
    }
    #expect(met.states == Set(OutboxEntry.State.allCases))
    #expect(met.waitReasons == Set(MutationWaitReason.allCases))
    #expect(met.deadReasons == Set(MutationDeadReason.allCases))
    #expect(met.outcomes == Set(RecordedMutation.Outcome.allCases))
    #expect(
      met.refusals == [
        "running", "notDead", "ended", "unknown", "unknownDependencies", "constraint", "tooBig",
      ])
  }

  /// - Returns: What the walk has met.
  private func walk(
    _ kind: StorageUnderTest, seed: UInt64, steps: Int
  ) async throws -> OutboxCoverage {
    var generator = SeededGenerator(seed: seed)
    let limits = MutationHistoryLimits(
      perMutation: [0, 3, 50].randomElement(using: &generator) ?? 0,
      total: [0, 6, 50].randomElement(using: &generator) ?? 0,
      days: [0, 1].randomElement(using: &generator) ?? 0,
      bytes: [0, 400].randomElement(using: &generator) ?? 0)
    var pair = try OutboxPair(kind, limits)
    var log = [String]()
    for step in 0..<steps {
      let operation = pair.nextOperation(using: &generator)
      log.append("\(step): \(operation)")
      let answers = await pair.apply(operation)
      let snapshots = try pair.snapshots()
      guard answers.reference == answers.other, snapshots.reference == snapshots.other else {
        Issue.record(
          """
          seed \(seed), \(limits), after
          \(log.suffix(40).joined(separator: "\n"))
          answer of the reference: \(answers.reference)
          answer of the other:     \(answers.other)
          \(snapshots.other.difference(from: snapshots.reference))
          """)
        return pair.met
      }
      pair.met.note(snapshots.reference)
    }
    return pair.met
  }
}

/// What walks have met.
struct OutboxCoverage {
  var states = Set<OutboxEntry.State>()
  var waitReasons = Set<MutationWaitReason>()
  var deadReasons = Set<MutationDeadReason>()
  var outcomes = Set<RecordedMutation.Outcome>()
  /// The names of the errors that were thrown.
  var refusals = Set<String>()

  mutating func note(_ snapshot: OutboxSnapshot) {
    for entry in snapshot.entries {
      self.states.insert(entry.state)
      if let reason = entry.waitReason { self.waitReasons.insert(reason) }
      if let reason = entry.deadReason { self.deadReasons.insert(reason) }
    }
    self.outcomes.formUnion(snapshot.history.compactMap(\.outcome))
  }

  mutating func formUnion(_ other: Self) {
    self.states.formUnion(other.states)
    self.waitReasons.formUnion(other.waitReasons)
    self.deadReasons.formUnion(other.deadReasons)
    self.outcomes.formUnion(other.outcomes)
    self.refusals.formUnion(other.refusals)
  }
}

/// What is done to both outboxes in one step.
enum OutboxOperation: Sendable {
  case enqueue(NewMutation, claiming: Bool)
  case enqueueTogether([NewMutation])
  case claim(Set<MutationHandler>, limit: Int, HostSlots, lane: String?, batches: Int)
  case claimOne(UUID)
  /// The place of the lease among all that were ever given, so that old ones come again.
  case settle(Int, AttemptOutcome)
  case retry(UUID, newKey: Bool)
  case retryWithArguments(UUID)
  case cancel(UUID)
  case discard(UUID)
  case pause(OutboxPause)
  case resume(OutboxPause)
  case release(MutationWaitReason)
  case clearHistory(String)
  case advance(Duration)
  case erase
}
