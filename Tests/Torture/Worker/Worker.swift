import Foundation
import Query
import QueryReplay
import QuerySQLite

/// A process of the bench: it does one thing until its time is over.
struct Worker {
  let place: Workplace

  /// Works, and returns when all is closed.
  ///
  /// - Parameter order: What the bench has ordered.
  /// - Throws: `POSIXError` if a log cannot be opened.
  static func run(_ order: WorkerOrder) async throws {
    Self.dieWithParent(order.parent)
    let worker = Worker(place: try Workplace(order))
    let work = Task { await worker.work() }
    if order.role != .drain {
      while Moment.now < order.until { try await Task.sleep(for: .milliseconds(20)) }
      work.cancel()
    }
    await work.value
  }

  /// Lets the kernel kill this process when the thread that has started it ends.
  private static func dieWithParent(_ parent: Int32) {
    // It takes variable arguments, so it is not imported.
    typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    let setDeathSignal: Int32 = 1
    if let symbol = dlsym(nil, "prctl") {
      _ = unsafeBitCast(symbol, to: Control.self)(setDeathSignal, UInt(SIGKILL), 0, 0, 0)
    }
    // It may have ended before.
    if getppid() != parent { exit(1) }
  }

  private func work() async {
    switch self.place.order.role {
    case .values: await self.writeValues()
    case .read: await self.readValues()
    case .enqueue: await self.place.withStorage { try await self.enqueue(in: $0) }
    case .mutate: await self.place.withStorage { try await self.mutate(in: $0) }
    case .replay: await self.place.withStorage { try await self.replay(in: $0) }
    case .both: await self.enqueueAndReplay()
    case .reopen: await self.reopen()
    case .inspect: await self.inspect()
    case .erase: await self.erase()
    case .drain: await self.place.withStorage { try await self.drain($0) }
    }
  }

  func client(_ storage: SQLiteQueryStorage) -> QueryClient {
    var context = QueryContext()
    // A round has no second for each answer that it is told to wait for.
    context.mutationBackoff = MutationBackoff(base: .milliseconds(20))
    context.queryClock = .custom { self.place.clock.wall }
    return QueryClient(storage: storage, defaultContext: context)
  }

  /// The mutation, as each worker declares it: some send several in one call.
  var mutation: ModifiedQuery<KeptNote, _BatchedMutationModifier<KeptNote>> {
    SendNote(place: self.place)
      .persisted(as: "send-note", MutationPersistenceOptions(scope: .by { $0.lane }))
      .batched(upTo: self.place.mostInOneCall) { notes, _ in try await self.place.receive(notes) }
  }

  typealias KeptNote = ModifiedQuery<SendNote, _PersistedMutationModifier<SendNote>>
}
