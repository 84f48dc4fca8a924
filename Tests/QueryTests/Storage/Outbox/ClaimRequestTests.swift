import Foundation
import Testing

@testable import Query

@Suite struct ClaimRequestTests {
  private func entry(_ name: String = "a", instance: String = "i", version: Int) -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: name, instance: instance, version: version,
      idempotencyKey: "key", createdAt: Date(), coder: "json", arguments: Data())
  }

  private func handler(_ version: Int, upgradesOlder: Bool) -> MutationHandler {
    MutationHandler(name: "a", instance: "i", version: version, upgradesOlder: upgradesOlder)
  }

  @Test func aHandlerRunsItsVersionAndUpgradesOlderOnes() {
    let strict = self.handler(2, upgradesOlder: false)
    #expect([1, 2, 3].map { strict.canRun(self.entry(version: $0)) } == [false, true, false])
    let lax = self.handler(2, upgradesOlder: true)
    #expect([1, 2, 3].map { lax.canRun(self.entry(version: $0)) } == [true, true, false])
  }

  @Test func aHandlerRunsNothingOfAnotherNameOrInstance() {
    let handler = self.handler(1, upgradesOlder: true)
    #expect(!handler.canRun(self.entry("b", version: 1)))
    #expect(!handler.canRun(self.entry(instance: "j", version: 1)))
  }

  @Test func hostsThatAreNotNamedHaveTheNumberOfTheOthers() {
    var slots = HostSlots(["a": 1], others: 2)
    #expect(slots["a"] == 1)
    #expect(slots["b"] == 2)
    slots["b"] -= 1
    #expect(slots == HostSlots(["a": 1, "b": 1], others: 2))
  }

  @Test func aNameCountsAsOneHostAndIsNoHosts() {
    var entry = self.entry("example.org", version: 1)
    #expect(entry.effectiveHost != "example.org")
    entry.host = "example.org"
    #expect(entry.effectiveHost == "example.org")
  }

  @Test func aRequestTakesOneOfAnyHostUnlessItSaysOtherwise() {
    let request = ClaimRequest(.mutation(UUID()))
    #expect(request.limit == 1)
    #expect(request.hostSlots["any"] == .max)
  }
}
