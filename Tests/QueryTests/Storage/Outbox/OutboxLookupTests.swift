import Foundation
import Testing

@testable import Query

@Suite struct OutboxLookupTests {
  /// Some mutations, by name.
  private struct Mutations: OutboxLookup {
    var live = [UUID: Int]()
    var ended = [UUID: (outcome: RecordedMutation.Outcome, successor: UUID?)]()

    func row(of id: UUID) -> Int? { self.live[id] }

    func end(of id: UUID) -> (outcome: RecordedMutation.Outcome, successor: UUID?)? {
      self.ended[id]
    }

    func dependencies(_ ids: [UUID]) throws -> [Int] {
      try self.openDependencies(
        of: NewMutation(
          name: "a", instance: "i", dependencies: ids, coder: "json", arguments: Data()))
    }
  }

  private let ids = (0..<4).map { _ in UUID() }

  @Test func aSupersededMutationCountsAsItsSuccessor() throws {
    var mutations = Mutations(live: [self.ids[2]: 7])
    mutations.ended[self.ids[0]] = (.superseded, self.ids[1])
    mutations.ended[self.ids[1]] = (.superseded, self.ids[2])
    #expect(try mutations.dependencies([self.ids[0], self.ids[2]]) == [7])
  }

  @Test func whatSucceededNeedNotBeAwaited() throws {
    var mutations = Mutations()
    mutations.ended[self.ids[0]] = (.succeeded, nil)
    // What the server has superseded it.
    mutations.ended[self.ids[1]] = (.superseded, nil)
    #expect(try mutations.dependencies([self.ids[0], self.ids[1]]) == [])
  }

  @Test(arguments: [RecordedMutation.Outcome.cancelled, .discarded])
  func whatWillNotSucceedIsRefused(_ outcome: RecordedMutation.Outcome) {
    var mutations = Mutations()
    mutations.ended[self.ids[0]] = (.superseded, self.ids[1])
    mutations.ended[self.ids[1]] = (outcome, nil)
    mutations.ended[self.ids[2]] = (outcome, nil)
    #expect(outcome.isMissed)
    #expect(throws: OutboxError.ended(self.ids[0])) {
      try mutations.dependencies([self.ids[0], self.ids[2]])
    }
  }

  @Test func whatIsUnknownIsNamedFirstAndOnce() {
    var mutations = Mutations(live: [self.ids[0]: 1])
    mutations.ended[self.ids[1]] = (.cancelled, nil)
    #expect(throws: OutboxError.unknownDependencies([self.ids[3], self.ids[2]])) {
      try mutations.dependencies([self.ids[1], self.ids[3], self.ids[0], self.ids[2], self.ids[3]])
    }
  }

  @Test func onlyAnUntriedRowOfTheSameMutationIsReplaced() {
    var new = NewMutation(name: "a", instance: "i", lane: "lane", coder: "json", arguments: Data())
    #expect(!new.replaces(name: "a", instance: "i", OutboxStanding()))
    new.coalesce = .latest
    #expect(new.replaces(name: "a", instance: "i", OutboxStanding()))
    #expect(!new.replaces(name: "b", instance: "i", OutboxStanding()))
    #expect(!new.replaces(name: "a", instance: "j", OutboxStanding()))
    var tried = OutboxStanding()
    tried.attempts = 1
    #expect(!new.replaces(name: "a", instance: "i", tried))
    var dead = OutboxStanding()
    dead.kill(.rejected)
    #expect(!new.replaces(name: "a", instance: "i", dead))
    new.lane = nil
    #expect(!new.replaces(name: "a", instance: "i", OutboxStanding()))
  }
}
