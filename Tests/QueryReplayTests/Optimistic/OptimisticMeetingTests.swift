import Foundation
import QueryReplay
import TestSupport
import Testing

@testable import Query

/// A call of this process and a reading on another thread meet: what the call has made is shown when it
/// returns, whichever of both has it first.
@Suite(.warningsAreIssues) struct OptimisticMeetingTests {
  private typealias Notes = QueryStore<QueryState<[Note]?, [Note]>>

  private let storage = ScriptedStorage()
  private let server = NotesServer()

  private func change(
    _ code: Int = 503, inEdit: @escaping @Sendable () -> Void = {}
  ) -> some MutationRequest<NoteChange, Bool> {
    ChangeNote { _, _ in throw HTTPStatusError(statusCode: code) }
      .persisted(as: "change-note", .init(scope: .by { $0.id }, coalesce: .latest))
      .optimistic(
        on: { _ in NotesQuery() }, whenDead: .kept,
        { notes, change, _ in
          inEdit()
          change.apply(to: &notes, default: [])
        })
  }

  private var list: some QueryRequest<[Note], QueryState<[Note]?, [Note]>> {
    NotesQuery { [server] _ in server.list }.persisted()
  }

  /// A client that has fetched the list, and reads nothing more by itself.
  private func launch(
    _ change: some MutationRequest<NoteChange, Bool>
  ) async throws -> (QueryClient, Notes) {
    let client = QueryClient.toldByHand(self.storage)
    try client.register(change)
    let notes = client.store(for: self.list)
    try await notes.fetch()
    await client.useUpItsReading()
    return (client, notes)
  }

  /// What the reading has taken is a part of what the call shows: it does not wait for the reading, which
  /// may be making edits still.
  @Test(arguments: [true, false])
  func anEndThatAReadingHasTakenIsShownWhenTheCallReturns(_ isDiscarded: Bool) async throws {
    let reading = HeldThread()
    let change = self.change(isDiscarded ? 400 : 503) { reading.stop() }
    let (client, notes) = try await self.launch(change)
    let changes = client.store(for: change)
    let id = try await changes.enqueue(with: NoteChange(id: "a", text: "1")).id
    _ = try await MutationReplayer(client: client).replayOnce()
    try await notes.fetch()
    // The reading is held while it makes this edit again.
    try await changes.enqueue(with: NoteChange(id: "b", text: "1"))
    #expect(notes.pendingChanges.map(\.standing.isDead) == [isDiscarded, false])
    #expect(!notes.isInvalidated)
    let subscription = self.storage.outbox.subscribe { event in
      guard [.discarded(id), .cancelled(id)].contains(event) else { return }
      reading.start { client.optimistic.read() }
    }
    defer { subscription.cancel() }
    if isDiscarded {
      try await self.storage.outbox.discard(id)
    } else {
      #expect(try await self.storage.outbox.cancel(id))
    }
    #expect(notes.currentValue?.map(\.id) == ["b"])
    #expect(notes.pendingChanges.count == 1)
    // Its server may have it.
    #expect(notes.isInvalidated == !isDiscarded)
    await reading.end()
    #expect(notes.currentValue?.map(\.id) == ["b"])
  }

  /// The reading has seen what is being cancelled before its client knew of it.
  @Test func aReadingDoesNotBringInWhatWasCancelledMeanwhile() async throws {
    let change = self.change()
    let (client, notes) = try await self.launch(change)
    let (other, others) = try await self.launch(change)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    let reading = HeldThread()
    self.storage.scripted.afterLog.withLock { $0 = { reading.stop() } }
    reading.start { other.optimistic.read() }
    #expect(try await self.storage.outbox.cancel(id))
    await reading.end()
    #expect(notes.currentValue == [])
    #expect(others.currentValue == [])
    #expect(!others.hasPendingChanges)
  }

  /// Two readings: the one that has begun later has read an older state of the outbox.
  @Test func aReadingDoesNotBringBackWhatAnotherHasSeenEnd() async throws {
    let change = self.change()
    let (client, notes) = try await self.launch(change)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    let (earlier, later) = (HeldThread(), HeldThread())
    self.storage.scripted.beforeLog.withLock { $0 = { earlier.stop() } }
    earlier.start { client.optimistic.read() }
    self.storage.scripted.afterLog.withLock { $0 = { later.stop() } }
    later.start { client.optimistic.read() }
    let subscription = self.storage.outbox.subscribe { event in
      if event == .cancelled(id) { earlier.finish() }
    }
    defer { subscription.cancel() }
    #expect(try await self.storage.outbox.cancel(id))
    #expect(notes.currentValue == [])
    await later.end()
    #expect(notes.currentValue == [])
    #expect(!notes.hasPendingChanges)
  }

  /// A thread that has gathered the edits of a store, which has none yet, lays them after the call.
  @Test func editsThatAreOutdatedAreNotTheFirstOfAStore() async throws {
    let change = self.change()
    let client = QueryClient.toldByHand(self.storage)
    try client.register(change)
    await client.useUpItsReading()
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    let notes = Notes.detached(
      query: NotesQuery(), initialValue: nil, initialContext: client.defaultContext)
    let index = client.optimistic
    index.note(notes)
    let (edits, version) = index.guarded.withLock {
      ($0.edits(at: notes.path), $0.version(at: notes.path))
    }
    #expect(edits.count == 1)
    #expect(try await self.storage.outbox.cancel(id))
    notes.lay(edits, version: version, since: 0, index)
    #expect(notes.currentValue == nil)
    #expect(!notes.hasPendingChanges)
    // What is there is laid.
    try await client.store(for: change).enqueue(with: NoteChange(id: "b", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["b"])
  }

  /// Its edit is taken off the list of another folder.
  @Test func whatAReadingHasSeenSupersededIsShownAsThat() async throws {
    let reading = HeldThread()
    let change = ChangeNote().persisted(
      as: "change-note", .init(scope: .named("n"), coalesce: .latest)
    )
    .optimistic(
      on: { Folder(name: $0.id) },
      { notes, change, _ in
        reading.stop()
        change.apply(to: &notes, default: [])
      })
    let kept = ChangeNote(name: "kept").persisted(as: "kept")
      .optimistic(
        on: { _ in Folder(name: "a") },
        { notes, change, _ in
          reading.stop()
          change.apply(to: &notes, default: [])
        })
    let client = QueryClient.toldByHand(self.storage)
    try client.register(change)
    try client.register(kept)
    let notes = client.store(for: Folder(name: "a"))
    await client.useUpItsReading()
    try await client.store(for: kept).enqueue(with: NoteChange(id: "z", text: "1"))
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["a", "z"])
    self.storage.scripted.afterEnqueueing.withLock {
      $0 = { _ in reading.start { client.optimistic.read() } }
    }
    try await client.store(for: change).enqueue(with: NoteChange(id: "b", text: "1"))
    #expect(notes.currentValue?.map(\.id) == ["z"])
    await reading.end()
    #expect(client.store(for: Folder(name: "b")).currentValue?.map(\.id) == ["b"])
  }

  /// It was sent before its own client knew that it was enqueued.
  @Test func whatEndsBeforeItsEnqueueingReturnsIsReadAgain() async throws {
    let change = self.change()
    let client = QueryClient.toldByHand(self.storage)
    try client.register(change)
    let notes = client.store(for: self.list)
    let (outbox, server) = (self.storage.outbox, self.server)
    self.storage.scripted.afterEnqueueing.withLock {
      $0 = { id in try await outbox.deliver(id, to: server) }
    }
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    let rereads = try #require(client.optimistic.guarded.withLock { $0.ground }).rereads
    // Else it would be shown as waiting for ever.
    try #require(!rereads.isIdle)
    for await _ in notes.states where !notes.hasPendingChanges { break }
    #expect(notes.currentValue?.map(\.id) == ["a"])
  }

  /// Its own client did not know yet what another thread has cancelled.
  @Test func whatIsCancelledBeforeItsEnqueueingReturnsIsNotShown() async throws {
    let change = self.change()
    let (client, notes) = try await self.launch(change)
    let outbox = self.storage.outbox
    self.storage.scripted.afterEnqueueing.withLock {
      $0 = { id in _ = try await outbox.cancel(id) }
    }
    try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1"))
    #expect(notes.currentValue == [])
    #expect(!notes.hasPendingChanges)
  }

  /// The call that has retried it shows that after a reading that knows more.
  @Test func whatWasRetriedAndIsDeadAgainIsReadAgain() async throws {
    let change = self.change(400)
    let client = QueryClient(storage: self.storage, storeCreator: BareStores())
    let pause = Gate()
    client.defaultContext.outboxRereadPause = { _ in await pause.passIgnoringCancellation() }
    try client.register(change)
    let notes = client.store(for: self.list)
    let id = try await client.store(for: change).enqueue(with: NoteChange(id: "a", text: "1")).id
    _ = try await MutationReplayer(client: client).replayOnce()
    #expect(notes.pendingChanges.map(\.standing) == [.dead(.rejected)])
    let rereads = try #require(client.optimistic.guarded.withLock { $0.ground }).rereads
    pause.open()
    while !rereads.isIdle { await Task.yield() }
    pause.close()
    let arrivals = pause.arrivals
    self.storage.slots.show(.retried(id))
    // Else it would be shown as waiting for ever.
    try #require(!rereads.isIdle)
    await pause.arrival(arrivals + 1)
    #expect(notes.pendingChanges.map(\.standing) == [.dead(.rejected)])
    pause.open()
  }

  /// A reader sees what others have read and still edit.
  @Test(arguments: 1...4)
  func aReadingShowsWhatOthersHaveTakenAndNotShownYet(_ count: Int) async throws {
    let readings = (0..<count).map { _ in HeldThread() }
    let change = self.change { for reading in readings { reading.stop() } }
    let (client, notes) = try await self.launch(change)
    let (other, _) = try await self.launch(change)
    for (number, reading) in readings.enumerated() {
      try await other.store(for: change).enqueue(with: NoteChange(id: "\(number)", text: "1"))
      reading.start { client.optimistic.read() }
    }
    #expect(notes.currentValue == [])
    client.optimistic.read()
    #expect(notes.currentValue?.count == count)
    for reading in readings { await reading.end() }
    #expect(notes.currentValue?.count == count)
    #expect(notes.pendingChanges.count == count)
  }
}

private struct Folder: QueryRequest {
  typealias State = QueryState<[Note]?, [Note]>

  let name: String

  var path: QueryPath { ["folders", self.name] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<[Note]>
  ) async throws -> [Note] { throw TestError() }
}

/// A thread that a test holds at a point of its code.
private final class HeldThread: Sendable {
  private let isAwaited = Locked(false)
  private let hasStopped = DispatchSemaphore(value: 0)
  private let mayGo = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)
  private let ends = Recorder<Bool>()

  /// Starts the thread, and returns when it has come to its stop, or has ended without.
  func start(_ body: @escaping @Sendable () -> Void) {
    self.isAwaited.withLock { $0 = true }
    Thread {
      body()
      self.hasStopped.signal()
      self.hasEnded.signal()
      self.ends.append(true)
    }.start()
    self.hasStopped.wait()
  }

  /// Holds the first thread that calls this after the start.
  func stop() {
    let isHeld = self.isAwaited.withLock { isAwaited in
      defer { isAwaited = false }
      return isAwaited
    }
    guard isHeld else { return }
    self.hasStopped.signal()
    self.mayGo.wait()
  }

  /// Lets the thread go on, and returns when it has ended.
  func finish() {
    self.mayGo.signal()
    self.hasEnded.wait()
  }

  func end() async {
    self.mayGo.signal()
    await self.ends.wait(forCount: 1)
  }
}

extension OptimisticContext.Standing {
  fileprivate var isDead: Bool { if case .dead = self { true } else { false } }
}
