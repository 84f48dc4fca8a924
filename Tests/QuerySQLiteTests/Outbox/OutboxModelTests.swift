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
    try await self.walk(kind, seed: seed, steps: 250)
  }

  /// The walk itself, on two of the reference, so that a mistake in it is not taken for one of theirs.
  @Test(arguments: SeededGenerator.seeds(10))
  func theReferenceDoesTheSameTwice(_ seed: UInt64) async throws {
    try await self.walk(.memory, seed: seed, steps: 300)
  }

  private func walk(_ kind: StorageUnderTest, seed: UInt64, steps: Int) async throws {
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
        return
      }
    }
  }
}

/// What is done to both outboxes in one step.
enum OutboxOperation: Sendable {
  case enqueue(NewMutation, claiming: Bool)
  case claim(Set<MutationHandler>, limit: Int, HostSlots)
  case claimOne(UUID)
  /// The place of the lease among all that were ever given, so that old ones come again.
  case settle(Int, AttemptOutcome)
  case retry(UUID)
  case retryWithArguments(UUID)
  case cancel(UUID)
  case discard(UUID)
  case pause
  case resume
  case release(MutationWaitReason)
  case clearHistory(String)
  case advance(Duration)
  case erase
}
