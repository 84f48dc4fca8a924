import Foundation
import TestSupport
import Testing

@testable import Query

/// What the next launch shows of the mutations of this one.
@Suite(.warningsAreIssues)
struct DurableAttachmentHistoryTests {
  @Test func aSuccessComesBackWithArgumentsDatesAndResult() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    try await device.launch().store(for: save).mutate(with: Note(id: 1, text: "a"))
    let store = device.launch().store(for: save)
    let entry = try #require(store.history.last)
    #expect(entry.arguments == Note(id: 1, text: "a"))
    #expect(entry.startDate == Date(timeIntervalSince1970: 1_234_567_890))
    #expect(try entry.currentResult?.get() == "A")
    #expect(entry.lastUpdatedAt != nil)
    #expect(!entry.isQueued)
    #expect(store.currentValue == "A")
    #expect(!store.isLoading)
    #expect(try await entry.task.runIfNeeded() == "A")
    guard case .storage = store.origin else {
      Issue.record("\(store.origin)")
      return
    }
  }

  @Test func aQueuedOneComesBackAsQueued() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote().persisted(as: "save-note")
    let first = device.launch().store(for: save)
    let thrown = await failure { try await first.mutate(with: Note(id: 1, text: "a")) }
    let store = device.launch().store(for: save)
    let entry = try #require(store.history.last)
    #expect(entry.isQueued)
    #expect(entry.mutationID == (thrown as? MutationQueuedError)?.id)
    guard case .failure(let error as MutationQueuedError)? = entry.currentResult else {
      Issue.record("not queued")
      return
    }
    #expect(error.waitReason == .offline)
    #expect(error.idempotencyKey == (thrown as? MutationQueuedError)?.idempotencyKey)
  }

  @Test func aDeadOneComesBackWithItsReasonAndLastError() async throws {
    let device = Device()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 400) }.persisted(as: "save-note")
    let first = device.launch().store(for: save)
    _ = await failure { try await first.mutate(with: Note(id: 1, text: "a")) }
    let entry = try #require(device.launch().store(for: save).history.last)
    guard case .failure(let error as MutationDeadError)? = entry.currentResult else {
      Issue.record("not dead")
      return
    }
    #expect(error.reason == .rejected)
    #expect(error.lastError?.text == "\(HTTPStatusError(statusCode: 400))")
    #expect(!entry.isQueued)
  }

  @Test func historyGoesByNameAndInstance() async throws {
    let device = Device()
    let first = SaveNote(path: ["rename", 3]).persisted(as: "rename")
    try await device.launch().store(for: first).mutate(with: Note(id: 1, text: "a"))
    let client = device.launch()
    #expect(client.store(for: first).history.count == 1)
    #expect(
      client.store(for: SaveNote(path: ["rename", 4]).persisted(as: "rename")).history.isEmpty)
    #expect(
      client.store(for: SaveNote(path: ["other"]).persisted(as: "other")).history.isEmpty)
  }

  @Test func whatThisReleaseCannotReadIsLeftOutAndUpgradeReadsIt() async throws {
    let device = Device()
    try await device.launch().store(for: SaveNote().persisted(as: "save-note"))
      .mutate(with: Note(id: 1, text: "a"))
    let newer = MutationPersistenceOptions<Note>(version: 2)
    #expect(
      device.launch().store(for: SaveNote().persisted(as: "save-note", newer)).history.isEmpty)
    let upgrading = MutationPersistenceOptions<Note>(
      version: 2, upgrade: { data, version in version == 1 ? data : Data() })
    #expect(
      device.launch().store(for: SaveNote().persisted(as: "save-note", upgrading)).history.count
        == 1)
  }

  @Test func aReplayedMutationIsShownInItsOwnEntry() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let save = SaveNote().persisted(as: "save-note")
    let client = device.launch()
    let store = client.store(for: save)
    for id in 1...3 {
      _ = await failure { try await store.mutate(with: Note(id: id, text: "\(id)")) }
    }
    device.network.send(status: .connected)
    let runner = try #require(try client.durableRunner(for: save))
    let claim = try await device.outbox.claim(ClaimRequest(.lowest(handledBy: [runner.handler])))
    let report = await runner.run(try #require(claim.leases.first))
    guard case .succeeded = report else {
      Issue.record("\(report)")
      return
    }
    #expect(store.history.map(\.arguments.id) == [1, 2, 3])
    #expect(store.history.map(\.isQueued) == [false, true, true])
    #expect(try store.history.first?.currentResult?.get() == "1")
  }

  @Test func onlyAsManyAsTheHistoryMayHoldComeBack() async throws {
    let device = Device()
    let save = SaveNote().persisted(as: "save-note")
    let store = device.launch().store(for: save)
    for id in 1...4 { try await store.mutate(with: Note(id: id, text: "a")) }
    #expect(
      device.launch().store(for: save.maxHistory(length: 2)).history.map(\.arguments.id) == [3, 4])
  }

  /// Dead or retried by the operator of the outbox, with no call of the store's.
  @Test func oneThatIsDeadElsewhereAndRetriedIsShownAsQueuedAgain() async throws {
    let device = Device()
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    let ticket = try await store.enqueue(with: Note(id: 1, text: "a"))
    let claim = try await device.outbox.claim(ClaimRequest(.mutation(ticket.id)))
    let lease = try #require(claim.leases.first)
    let rejected = AttemptOutcome.failed(
      FailedAttempt(
        error: RestoredError(typeName: "T", text: "no"), outcome: "rejected", isCharged: true,
        maybeApplied: false, next: .dead(.rejected)))
    #expect(try await device.outbox.settle(lease, rejected))
    #expect(store.history.last?.isQueued == false)
    #expect(store.error is MutationDeadError)
    try await device.outbox.retry(ticket.id)
    let entry = try #require(store.history.last)
    #expect(entry.isQueued)
    guard case .failure(let error as MutationQueuedError)? = entry.currentResult else {
      Issue.record("not queued")
      return
    }
    #expect(error.id == ticket.id)
  }
}
