import Foundation
import TestSupport
import Testing

@testable import Query

/// A committed mutation whose attempt does not begin.
@Suite(.warningsAreIssues)
struct AttemptAdmissionTests {
  /// The history keeps the cancelled attempt, and so all that this holds.
  @Test func anAttemptThatIsCancelledBeforeItBeginsGivesItsLeaseBack() async throws {
    let device = Device()
    let save = SaveNote()
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let subscription = store.subscribe { state in
      if state.isLoading { state.history.last?.task.cancel() }
    }
    _ = await failure { try await store.mutate(with: Note(id: 1, text: "a")) }
    subscription.cancel()
    for await counts in device.outbox.changes where counts.pending == 1 { break }
    let entry = try #require(try device.outbox.entries().first)
    #expect(entry.failures == 0)
    #expect(!entry.maybeApplied)
    #expect(save.calls.count == 0)
    #expect(store.history.map(\.mutationID) == [entry.id])
    // It is due at once.
    #expect(try await device.outbox.claim(ClaimRequest(.mutation(entry.id))).leases.count == 1)
  }
}
