import Foundation
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What the history shows of a call that waits behind another one in its lane.
@Suite(.warningsAreIssues) struct WaitingCallTests {
  /// How a mutation ends for which a call waits.
  enum End: CaseIterable, Sendable { case cancelled, superseded, sentByAnother }

  private let folder: ScratchFolder
  private let gate = Gate()

  init() throws { self.folder = try ScratchFolder() }

  /// A mutation of which "a" waits at the gate.
  private var save: some MutationRequest<String, String> {
    BlockMutation(["save"]) { [gate] (text: String, _: QueryContext) -> String in
      if text == "a" { await gate.passIgnoringCancellation() }
      return text
    }
    .persisted(as: "save", .init(scope: .named("notes"), coalesce: .latest))
  }

  @Test(arguments: StorageKind.allCases, End.allCases)
  func oneThatEndsMeanwhileIsNotShownAsQueued(_ kind: StorageKind, end: End) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let store = client.store(for: self.save)
    let first = Task { try await store.mutate(with: "a") }
    await self.gate.arrival()
    let second = Task { try await store.mutate(with: "b") }
    while store.history.count < 2 { await Task.yield() }
    let id = try #require(try storage.outbox.entries().last?.id)
    switch end {
    case .cancelled: try await storage.outbox.cancel(id)
    case .superseded: try await store.enqueue(with: "c")
    case .sentByAnother: break
    }
    self.gate.open()
    #expect(try await first.value == "a")
    let result = await second.result
    let shown = try #require(store.history.first { $0.mutationID == id })
    #expect(!shown.isQueued)
    #expect(!shown.status.isLoading)
    switch end {
    case .cancelled: #expect((try? result.get()) == nil)
    case .superseded: #expect(try result.get() == "c")
    case .sentByAnother: #expect(try result.get() == "b")
    }
    // The entry shows what the call has got.
    #expect((try? shown.currentResult?.get()) == (try? result.get()))
    #expect(store.history.allSatisfy { !$0.isQueued })
    #expect(store.errorUpdateCount == (end == .cancelled ? 1 : 0))
    try await storage.close()
  }

  @Test(arguments: StorageKind.allCases, [false, true])
  func oneThatIsErasedIsNotSaidToBeSaved(_ kind: StorageKind, isSubmitted: Bool) async throws {
    let storage = try kind.make(in: self.folder)
    let client = QueryClient(storage: storage)
    let store = client.store(for: self.save)
    let first = Task { try await store.mutate(with: "a") }
    await self.gate.arrival()
    let waiting = Task {
      if isSubmitted {
        _ = try await store.submit(with: "b")
      } else {
        _ = try await store.mutate(with: "b")
      }
    }
    while store.history.count < 2 { await Task.yield() }
    try await storage.erase()
    let error = await #expect(throws: MutationEndedError.self) { try await waiting.value }
    #expect(error?.reason == .unknown)
    self.gate.open()
    _ = await first.result
    try await storage.close()
  }
}
