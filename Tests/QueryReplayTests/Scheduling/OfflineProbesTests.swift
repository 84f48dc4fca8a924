import Foundation
import Query
import Testing

@testable import QueryReplay

@Suite struct OfflineProbesTests {
  private var probes = OfflineProbes()

  private func entry(_ host: String) -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: "edit", instance: "", host: host, idempotencyKey: "",
      createdAt: Date(timeIntervalSince1970: 0), coder: "json", arguments: Data())
  }

  private func slots(_ now: Duration) -> HostSlots {
    var slots = HostSlots(["busy": 0], others: 2)
    self.probes.restrict(&slots, at: now)
    return slots
  }

  @Test mutating func hostTakesOneAtATime() {
    #expect(self.slots(.zero)["a"] == 1 && self.slots(.zero)["busy"] == 0)
    let entry = self.entry("a")
    self.probes.begin([entry])
    #expect(self.probes.isProbe(entry.id))
    #expect(self.slots(.zero)["a"] == 0 && self.slots(.zero)["b"] == 1)
    self.probes.end(entry.id, .answered, at: .zero)
    #expect(self.slots(.zero)["a"] == 1)
    #expect(self.probes.next(after: .zero) == nil)
  }

  @Test mutating func pausesGrowUntilTheHostAnswers() {
    var now = Duration.zero
    for pause in [30, 60, 120, 240, 300, 300] {
      let entry = self.entry("a")
      self.probes.begin([entry])
      self.probes.end(entry.id, .unreachable, at: now)
      #expect(self.slots(now)["a"] == 0)
      #expect(self.probes.next(after: now) == now + .seconds(pause))
      now += .seconds(pause)
      #expect(self.slots(now)["a"] == 1)
    }
    let entry = self.entry("a")
    self.probes.begin([entry])
    self.probes.end(entry.id, .answered, at: now)
    #expect(self.slots(now)["a"] == 1)
    self.probes.begin([entry])
    self.probes.end(entry.id, .unreachable, at: now)
    #expect(self.probes.next(after: now) == now + .seconds(30))
  }

  @Test mutating func onlySoManyHostsAreRemembered() {
    for number in 0..<2_000 {
      let entry = self.entry("\(number)")
      self.probes.begin([entry])
      self.probes.end(entry.id, .unreachable, at: .seconds(number))
    }
    #expect(self.slots(.seconds(0))["1999"] == 0)
    #expect(self.slots(.seconds(0))["0"] == 1)
  }
}
