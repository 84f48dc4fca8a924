import Foundation
import Query
import TestSupport

/// A note, as the arguments of a durable mutation.
struct Note: Codable, Hashable, Sendable {
  var id: Int
  var text: String
}

/// A durable mutation whose attempts a test scripts.
struct SaveNote: MutationRequest {
  /// One attempt, for the script of a test.
  struct Call: Sendable {
    let note: Note
    let context: QueryContext

    var attempt: MutationAttempt? { self.context.mutationAttempt }
  }

  let path: QueryPath
  let calls = Recorder<Call>()
  let perform: @Sendable (Call) async throws -> String

  init(
    path: QueryPath = ["save-note"],
    perform: @escaping @Sendable (Call) async throws -> String = { $0.note.text.uppercased() }
  ) {
    self.path = path
    self.perform = perform
  }

  func mutate(
    with arguments: Note,
    in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    let call = Call(note: arguments, context: context)
    self.calls.append(call)
    return try await self.perform(call)
  }
}

typealias NoteStore = QueryStore<MutationState<Note, String>>

/// A storage in memory with a clock that the test moves, and clients on it: each is a launch.
struct Device {
  let clock = OutboxTestClock()
  let storage: MemoryQueryStorage
  let network = MockNetworkObserver()

  init() { self.storage = MemoryQueryStorage(outboxClock: self.clock.clock) }

  var outbox: any MutationOutbox { self.storage.outbox }

  func launch() -> QueryClient {
    var context = QueryContext()
    context.networkObserver = self.network
    context.mutationBackoff.random = { 1 }
    return QueryClient(storage: self.storage, defaultContext: context)
  }
}

/// The times of an outbox, moved by the test.
final class OutboxTestClock: Sendable {
  private let time = Locked(
    OutboxTime(
      wall: Date(timeIntervalSince1970: 1_234_567_890), boottime: 1_000_000_000,
      monotonic: 900_000_000, bootID: "boot-1", isSynchronised: true))

  var clock: OutboxClock { OutboxClock { self.time.withLock { $0 } } }

  func advance(by duration: Duration) {
    let microseconds = Int(duration / .microseconds(1))
    self.time.withLock { time in
      time.wall += duration / .seconds(1)
      time.boottime += microseconds
      time.monotonic += microseconds
    }
  }
}

/// The error that a call throws.
func failure<T>(_ body: () async throws -> T) async -> (any Error)? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
