import Foundation
import TestSupport
import Testing

@testable import Query

/// `submit`, the first door of a form.
@Suite(.warningsAreIssues) struct MutationDeliveryTests {
  @Test func whatTheServerHasIsSent() async throws {
    let store = Device().launch().store(for: SaveNote().persisted(as: "save-note"))
    let delivery = try await store.submit(with: Note(id: 1, text: "a"))
    #expect(delivery.value == "A")
    #expect(delivery.ticket == nil)
    #expect(store.queuedCount == 0)
  }

  @Test func aSavedWriteIsNoErrorOfItsStore() async throws {
    let device = Device()
    device.network.send(status: .disconnected)
    let store = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    guard case .saved(let ticket, .offline) = try await store.submit(with: Note(id: 1, text: "a"))
    else {
      Issue.record("not saved")
      return
    }
    #expect(try device.outbox.entry(ticket.id)?.idempotencyKey == ticket.idempotencyKey)
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 0)
    #expect(store.status.isIdle)
    #expect(store.queuedCount == 1)
    #expect(store.history.last?.isQueued == true)
    // The next launch sees it so, too.
    let next = device.launch().store(for: SaveNote().persisted(as: "save-note"))
    #expect(next.error == nil)
    #expect(next.status.isIdle)
    #expect(next.queuedCount == 1)
  }

  @Test func aServerThatIsDownLeavesItSaved() async throws {
    let device = Device()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 503) }
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    let delivery = try await store.submit(with: Note(id: 1, text: "a"))
    guard case .saved(_, .backoff) = delivery else {
      Issue.record("\(delivery)")
      return
    }
    #expect(store.error == nil)
  }

  @Test func whatTheServerRefusesIsThrown() async throws {
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 422) }
    let store = Device().launch().store(for: save.persisted(as: "save-note"))
    let error = await failure { try await store.submit(with: Note(id: 1, text: "a")) }
    #expect((error as? HTTPStatusError)?.statusCode == 422)
    #expect((store.error as? HTTPStatusError)?.statusCode == 422)
    #expect(store.queuedCount == 0)
  }

  @Test func anEarlierErrorIsNotShownForALaterSavedWrite() async throws {
    let device = Device()
    let save = SaveNote { _ in throw HTTPStatusError(statusCode: 422) }
    let store = device.launch().store(for: save.persisted(as: "save-note"))
    _ = await failure { try await store.submit(with: Note(id: 1, text: "a")) }
    device.network.send(status: .disconnected)
    try await store.submit(with: Note(id: 2, text: "b"))
    #expect(store.error == nil)
    #expect(store.errorUpdateCount == 1)
  }

  /// Its form was closed, or a person has cancelled the attempt in a list.
  @Test(arguments: [false, true])
  func whatTheServerHasIsSentAlthoughItWasCancelledMeanwhile(_ isInList: Bool) async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      await gate.passIgnoringCancellation()
      return call.note.text
    }
    var context = QueryContext()
    // The server's answer is waited for, however busy the machine is.
    context.attemptGrace = .seconds(3_600)
    let client = QueryClient(storage: device.storage, defaultContext: context)
    let store = client.store(for: save.persisted(as: "save-note"))
    let form = Task { try await store.submit(with: Note(id: 1, text: "a")) }
    await gate.arrival()
    if isInList { store.history.last?.task.cancel() } else { form.cancel() }
    gate.open()
    #expect(try await form.value.value == "a")
    #expect(save.calls.count == 1)
    #expect(try device.outbox.entries().isEmpty)
  }

  /// What ends an attempt before it has begun.
  enum EarlyEnd: CaseIterable, Sendable {
    case storeIsReset, clientIsReset, attemptIsCancelled
  }

  /// An error would make the form enter it a second time.
  @Test(arguments: EarlyEnd.allCases)
  func whatIsOnDiskIsSavedAlthoughItsAttemptNeverBegins(_ end: EarlyEnd) async throws {
    let device = Device()
    let save = SaveNote()
    let client = device.launch()
    let store = client.store(for: save.persisted(as: "save-note"))
    let attempts = Counter()
    let subscription = store.subscribe { state in
      guard state.isLoading, attempts.increment() == 1 else { return }
      switch end {
      case .storeIsReset: store.reset()
      case .clientIsReset: client.reset()
      case .attemptIsCancelled: state.history.last?.task.cancel()
      }
    }
    defer { subscription.cancel() }
    guard case .saved(let ticket, _) = try await store.submit(with: Note(id: 1, text: "a")) else {
      Issue.record("not saved")
      return
    }
    #expect(try device.outbox.entries().map(\.id) == [ticket.id])
    #expect(try device.outbox.entry(ticket.id)?.idempotencyKey == ticket.idempotencyKey)
    #expect(save.calls.count == 0)
  }

  /// The account is signed out while the server has the request.
  @Test func whatIsUnderWayWhenTheStorageIsClosedIsSaved() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      await gate.passIgnoringCancellation()
      return call.note.text
    }
    let client = device.launch()
    client.defaultContext.attemptGrace = .seconds(3_600)
    let store = client.store(for: save.persisted(as: "save-note"))
    async let delivery = store.submit(with: Note(id: 1, text: "a"))
    await gate.arrival()
    let entry = try #require(try device.outbox.entries().first)
    try await device.storage.close()
    gate.open()
    guard case .saved(let ticket, _) = try await delivery else {
      Issue.record("not saved")
      return
    }
    #expect(ticket.id == entry.id)
    #expect(ticket.idempotencyKey == entry.idempotencyKey)
  }

  @Test func whatWaitsForItsTurnWhenTheStorageIsClosedIsSaved() async throws {
    let device = Device()
    let gate = Gate()
    let save = SaveNote { call in
      await gate.passIgnoringCancellation()
      return call.note.text
    }
    let client = device.launch()
    client.defaultContext.attemptGrace = .seconds(3_600)
    let options = MutationPersistenceOptions<Note>(scope: .named("notes"))
    let store = client.store(for: save.persisted(as: "save-note", options))
    async let first = store.submit(with: Note(id: 1, text: "a"))
    await gate.arrival()
    async let second = store.submit(with: Note(id: 1, text: "b"))
    while try device.outbox.counts.pending == 0 { await Task.yield() }
    let waiting = try #require(try device.outbox.entries().first { $0.state == .pending })
    try await device.storage.close()
    gate.open()
    guard case .saved(let ticket, _) = try await second else {
      Issue.record("not saved")
      return
    }
    #expect(ticket.id == waiting.id)
    #expect(ticket.idempotencyKey == waiting.idempotencyKey)
    #expect(try await first.ticket != nil)
  }

  @Test func aMutationThatIsNotDurableCannotBeSubmitted() async throws {
    let store = Device().launch().store(for: SaveNote())
    let error = await failure { try await store.submit(with: Note(id: 1, text: "a")) }
    #expect(error as? MutationDeclarationError == .notPersisted(mutation: "\(store.path)"))
  }
}
