import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct SharedFetchEndingTests {
  private let shared = SharedFetch<Int>(
    context: QueryContext(), continuation: QueryContinuation { _, _ in })

  /// What is kept for those on their way to it would otherwise be abandoned behind their back.
  @Test func aCallerThatIsCancelledOnceTheWorkHasEndedLeavesNoMore() async throws {
    let (shared, leavings) = (self.shared, Counter())
    let value = try await shared.run(SharedQuery { $0.number }, isolation: #isolation) {
      shared.leave(SharedFetch<Int>.firstMember) { leavings.increment() }
    }
    #expect(value == 1)
    #expect(leavings.value == 0)
    #expect(try shared.sharedResult?.get() == 1)
  }

  /// It is in the table until then, where one that finds it has to get something.
  @Test func aCallerThatJoinsBeforeTheTableKnowsOfTheEndHasTheResult() async throws {
    let (shared, members) = (self.shared, Recorder<Int?>())
    let value = try await shared.run(SharedQuery { $0.number }, isolation: #isolation) {
      members.append(shared.join())
    }
    #expect(value == 1)
    let member = try #require(members.elements.first ?? nil)
    #expect(try await shared.value(for: member, isolation: #isolation, onLeave: {}) == 1)
    #expect(shared.join() == nil, "the table knows of it now")
  }
}
