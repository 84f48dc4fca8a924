import TestSupport
import Testing

@testable import Query

@Suite(.warningsAreIssues) struct SharedFetchEndingTests {
  private let shared = SharedFetch<Int>(
    context: QueryContext(), continuation: QueryContinuation { _, _ in })

  /// It has left before it waited, and the work has ended since.
  @Test func aCallerThatHasLeftGetsNothingOfTheResult() async throws {
    let (shared, gate) = (self.shared, Gate())
    let member = try #require(shared.join())
    let run = Task {
      try await shared.run(
        BlockQuery<Int>(["work"]) { _ in
          try await gate.pass()
          throw TestError()
        }, isolation: nil, onEnd: {})
    }
    await gate.arrival()
    shared.leave(member, {})
    gate.open()
    await #expect(throws: TestError.self) { try await run.value }
    await #expect(throws: CancellationError.self) {
      try await shared.value(for: member, isolation: nil, onLeave: {})
    }
  }

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
