import Foundation
import QuerySQLite
import TestSupport

@testable import Query

/// A record of the server.
struct Note: Codable, Hashable, Sendable, Identifiable {
  let id: String
  var text: String
}

/// A server of notes that honours idempotency keys, and whose reads see what it has acknowledged.
final class NotesServer: Sendable {
  private struct Guarded {
    var notes = [String: Note]()
    var keys = Set<String>()
  }

  private let guarded = Locked(Guarded())

  var notes: [String: Note] { self.guarded.withLock { $0.notes } }

  var keys: Set<String> { self.guarded.withLock { $0.keys } }

  var list: [Note] { self.notes.values.sorted { $0.id < $1.id } }

  func apply(_ change: NoteChange, key: String) {
    self.guarded.withLock { server in
      guard server.keys.insert(key).inserted else { return }
      change.apply(to: &server.notes)
    }
  }

  func write(_ note: Note) { self.guarded.withLock { $0.notes[note.id] = note } }
}

/// What a person enters: a text for a note, or that it is to go.
struct NoteChange: Codable, Hashable, Sendable {
  let id: String
  /// Nil: remove it.
  let text: String?

  func apply(to notes: inout [String: Note]) {
    notes[self.id] = self.text.map { Note(id: self.id, text: $0) }
  }

  func apply(to notes: inout [Note]) {
    notes.removeAll { $0.id == self.id }
    guard let text = self.text else { return }
    notes.append(Note(id: self.id, text: text))
    notes.sort { $0.id < $1.id }
  }
}

/// The list of all notes.
struct NotesQuery: QueryRequest {
  typealias State = QueryState<[Note]?, [Note]>

  var fetchNotes: @Sendable (QueryContext) async throws -> [Note] = { _ in throw TestError() }

  var path: QueryPath { ["notes"] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<[Note]>
  ) async throws -> [Note] { try await self.fetchNotes(context) }
}

/// Sends a change to the server.
struct ChangeNote: MutationRequest {
  typealias Arguments = NoteChange

  var send: @Sendable (NoteChange, MutationAttempt) async throws -> Void = { _, _ in
    throw TestError()
  }

  var name = "change-note"

  var path: QueryPath { [self.name] }

  func mutate(
    with arguments: NoteChange, in context: QueryContext,
    with continuation: QueryContinuation<Bool>
  ) async throws -> Bool {
    guard let attempt = context.mutationAttempt else { throw TestError() }
    try await self.send(arguments, attempt)
    return true
  }
}

/// Makes stores without deduplication and automatic fetches.
struct BareStores: QueryClient.StoreCreator {
  func store<Query: QueryRequest>(
    for query: Query, in context: QueryContext, with initialState: Query.State
  ) -> QueryStore<Query.State> {
    .detached(query: query, initialState: initialState, initialContext: context)
  }
}

extension QueryClient {
  /// A client with bare stores that is told of the outbox when the test says so.
  static func toldByHand(_ storage: any QueryStorage) -> QueryClient {
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    client.defaultContext.outboxRereadPause = { _ in try? await Task.sleep(for: .seconds(3_600)) }
    return client
  }

  /// Makes the one reading that a client makes by itself, since its pause is long.
  func useUpItsReading() async {
    let readings = self.optimistic.guarded.withLock { $0.takenReading }
    self.optimistic.requestReading()
    while self.optimistic.guarded.withLock({ $0.takenReading }) == readings { await Task.yield() }
  }
}

/// A storage in memory or on disk.
enum StorageKind: String, CaseIterable, Sendable {
  case memory, sqlite

  func make(in folder: ScratchFolder) throws -> any QueryStorage {
    switch self {
    case .memory: MemoryQueryStorage()
    case .sqlite: try SQLiteQueryStorage(directory: folder.url)
    }
  }
}

extension MutationOutbox {
  /// Sends a mutation as a tool does that knows no edit.
  func sendWithoutCode(
    _ id: UUID, _ outcome: (MutationLease) throws -> AttemptOutcome
  ) async throws {
    guard let lease = try await self.claim(ClaimRequest(.mutation(id))).leases.first else { return }
    _ = try await self.settle(lease, try outcome(lease))
  }

  /// Sends a mutation to a server as a tool does.
  func deliver(_ id: UUID, to server: NotesServer) async throws {
    try await self.sendWithoutCode(id) { lease in
      let change = try JSONDecoder().decode(NoteChange.self, from: lease.entry.arguments)
      server.apply(change, key: lease.entry.idempotencyKey)
      return .succeeded(SuccessfulAttempt(result: nil))
    }
  }
}
