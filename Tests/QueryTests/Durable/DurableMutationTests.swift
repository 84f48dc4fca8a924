import Foundation
import TestSupport
import Testing

@testable import Query

/// A mutation that declares itself durable.
@Suite(.warningsAreIssues) struct DurableMutationTests {
  private struct Rename: DurableMutation {
    static let persistedName = "rename"
    static let persistence = MutationPersistenceOptions<Note>(scope: .named("notes"))

    var path: QueryPath { ["rename"] }

    func mutate(
      with note: Note, in context: QueryContext, with continuation: QueryContinuation<String>
    ) async throws -> String { note.text }
  }

  private struct Touch: DurableMutation {
    static let persistedName = "touch"

    var path: QueryPath { ["touch"] }

    func mutate(
      with arguments: Void, in context: QueryContext, with continuation: QueryContinuation<Void>
    ) async throws {}
  }

  @Test func itsRowsAreAsItsTypeSays() async throws {
    let device = Device()
    let store = device.launch().store(for: Rename())
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    let entry = try #require(try device.outbox.entry(ticket.id))
    #expect(entry.name == "rename")
    #expect(entry.lane == "notes")
    #expect(try device.launch().durableRunner(for: Rename())?.handler.name == "rename")
  }

  @Test func withoutOptionsArgumentsAndResultItIsDurableToo() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let delivery = try await device.launch().store(for: Touch()).submit()
    #expect(delivery.ticket != nil)
    #expect(try device.outbox.entries().map(\.name) == ["touch"])
  }

  @Test func modifiersAroundItLeaveItDurable() async throws {
    let device = Device()
    let store = device.launch().store(for: Rename().retry(limit: 2))
    #expect(try await store.submit(with: Note(id: 1, text: "a")).value == "a")
    #expect(store.history.last?.mutationID != nil)
  }
}
