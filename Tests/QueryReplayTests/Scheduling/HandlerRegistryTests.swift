import Foundation
import Query
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct HandlerRegistryTests {
  private let outbox = MemoryQueryStorage().outbox

  private func entry(instance: String = "", version: Int) -> OutboxEntry {
    OutboxEntry(
      id: UUID(), number: 1, name: "edit", instance: instance, version: version,
      idempotencyKey: "", createdAt: Date(timeIntervalSince1970: 0), coder: "json",
      arguments: Data())
  }

  @Test func rowGoesToItsOwnInstanceAndVersion() throws {
    var registry = HandlerRegistry()
    let runners = [("", 1), ("", 2), ("3", 1)].map {
      ScriptedRunner("edit", instance: $0.0, version: $0.1, outbox: self.outbox)
    }
    for runner in runners { try registry.add(runner) }
    #expect(registry.handlers.count == 3)
    #expect(registry.runner(for: self.entry(version: 1)) as? ScriptedRunner === runners[0])
    #expect(registry.runner(for: self.entry(version: 2)) as? ScriptedRunner === runners[1])
    let third = registry.runner(for: self.entry(instance: "3", version: 1))
    #expect(third as? ScriptedRunner === runners[2])
    #expect(registry.runner(for: self.entry(version: 3)) == nil)
    #expect(registry.runner(for: self.entry(instance: "4", version: 1)) == nil)
  }

  @Test func laterRegistrationReplacesAnEarlierOne() throws {
    var registry = HandlerRegistry()
    let first = ScriptedRunner("edit", outbox: self.outbox)
    let second = ScriptedRunner("edit", outbox: self.outbox)
    try registry.add(first)
    try registry.add(second)
    #expect(registry.handlers == [first.handler])
    #expect(registry.runner(for: self.entry(version: 1)) as? ScriptedRunner === second)
  }
}
