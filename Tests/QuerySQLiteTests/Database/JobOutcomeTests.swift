import Query
import Testing

@testable import QuerySQLite

@Suite struct JobOutcomeTests {
  private struct Failure: Error {}

  @Test func theLastValueThatWasProposedIsTheResult() async throws {
    let outcome = JobOutcome<Int>()
    // A transaction that was rolled back ran the job before.
    outcome.propose(1)
    outcome.propose(2)
    outcome.end(nil)
    #expect(try await outcome.value() == 2)
  }

  @Test func anErrorTakesThePlaceOfWhatWasProposed() async {
    let outcome = JobOutcome<Int>()
    outcome.propose(1)
    outcome.end(Failure())
    await #expect(throws: Failure.self) { try await outcome.value() }
  }

  @Test func aCallerThatWaitsIsResumed() async throws {
    let outcome = JobOutcome<Int>()
    async let value = outcome.value()
    outcome.propose(3)
    outcome.end(nil)
    #expect(try await value == 3)
  }
}
