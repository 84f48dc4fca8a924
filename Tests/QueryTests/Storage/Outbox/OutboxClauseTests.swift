import Foundation
import Testing

@testable import Query

@Suite struct OutboxClauseTests {
  private func entry(
    _ state: OutboxEntry.State = .pending,
    _ reason: MutationWaitReason? = nil,
    _ deadReason: MutationDeadReason? = nil
  ) -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: "rename", instance: "i", state: state, waitReason: reason,
      deadReason: deadReason, idempotencyKey: "key", createdAt: Date(), coder: "json",
      arguments: Data())
  }

  @Test func anotherMutationIsNamedWithWhatItDoes() {
    let waiting = self.entry(.pending, .retryAfter)
    #expect(
      OutboxClause.predecessor(waiting).description
        == "It waits for “rename” (\(waiting.id)), which is before it in its lane and waits (retryAfter)."
    )
    let dead = self.entry(.dead, nil, .exhausted)
    #expect(
      OutboxClause.dependency(dead).description
        == "It depends on “rename” (\(dead.id)), which is dead (exhausted).")
    #expect(OutboxClause.dependency(self.entry(.leased)).description.hasSuffix("which runs."))
    #expect(OutboxClause.dependency(self.entry()).description.hasSuffix("which is due."))
  }

  @Test func whatIsStillToComeIsNeverZeroSeconds() {
    let clause = OutboxClause.time(.backoff, remaining: .microseconds(1), nil)
    #expect(clause.description == "It is tried again in 1 s, after a failure (backoff).")
  }

  @Test func whatIsTriedAgainTellsWhatFailed() {
    let error = RestoredError(typeName: "Test.Failure", text: "status 503")
    let clause = OutboxClause.time(.retryAfter, remaining: .seconds(8), error)
    #expect(clause.description.hasSuffix("The last attempt failed: \(error)"))
    let later = OutboxClause.time(.scheduled, remaining: .seconds(8), nil)
    #expect(later.description == "It is to be sent in 8 s.")
  }

  @Test func aTimeIsToldInUTC() {
    let clause = OutboxClause.paused(.everything, since: Date(timeIntervalSince1970: 0))
    #expect(clause.description == "The outbox is paused since 1970-01-01T00:00:00Z.")
  }

  @Test func aDeadOneTellsItsLastError() {
    let error = RestoredError(typeName: "Test.Failure", text: "status 400")
    #expect(OutboxClause.dead(.rejected, error).description.contains("status 400"))
    #expect(OutboxClause.dead(.expired, nil).description.contains("expired"))
  }
}
