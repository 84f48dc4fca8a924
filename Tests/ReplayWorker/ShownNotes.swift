import Foundation
import FoundationNetworking
import Query
import QueryHTTP
import QueryReplay
import QuerySQLite
import Synchronization

/// The notes that a server has, as texts.
struct NoteTexts: QueryRequest {
  typealias State = QueryState<[String]?, [String]>

  let server: URL

  var path: QueryPath { ["note-texts"] }

  func fetch(
    in context: QueryContext, with continuation: QueryContinuation<[String]>
  ) async throws -> [String] {
    var request = URLRequest(url: self.server)
    request.timeoutInterval = 3_600
    let (data, _) = try await HTTPTransport.shared.answer(to: request)
    return try JSONDecoder().decode([String].self, from: data)
  }
}

/// A process that shows what was entered before it is sent.
struct ShownNotes {
  let client: QueryClient
  let storage: SQLiteQueryStorage
  let server: URL
  let say: @Sendable (String) -> Void

  private var mutation: some MutationRequest<LaneNote, Void> {
    SendNote(server: self.server).persisted(as: "send-note", .init(scope: .by { $0.lane }))
      .optimistic(
        on: { [server] _ in NoteTexts(server: server).persisted() },
        { texts, note, _ in
          let text = "\(note.lane)/\(note.number)"
          texts = ((texts ?? []).filter { $0 != text } + [text]).sorted()
        })
  }

  private func launch() throws -> QueryStore<NoteTexts.State> {
    try self.client.register(self.mutation)
    return self.client.store(for: NoteTexts(server: self.server).persisted())
  }

  private static func text(_ texts: [String]?) -> String { (texts ?? []).joined(separator: " ") }

  /// Enqueues mutations and sends them, and says which were settled, as soon as that is committed.
  func send(lane: String, count: Int, fetching: Bool) async throws {
    let texts = try self.launch()
    if fetching {
      try await texts.fetch()
      try await self.storage.flush()
    }
    let names = Names()
    let (outbox, say) = (self.storage.outbox, self.say)
    let subscription = outbox.subscribe { event in
      if case .succeeded(let id) = event { say("settled \(names[id] ?? "?")") }
    }
    let store = self.client.store(for: self.mutation)
    for number in 0..<count {
      let id = UUID()
      names.add(id, "\(lane)/\(number)")
      try await store.enqueue(with: LaneNote(lane: lane, number: number), id: id)
      say("entered \(lane)/\(number)")
    }
    try await MutationReplayer(client: self.client).run()
    withExtendedLifetime((subscription, texts)) {}
  }

  /// Fetches once, and says what is seen meanwhile.
  func show() async throws {
    let (texts, say) = (try self.launch(), self.say)
    let subscription = texts.subscribe { say("shown \(Self.text($0.currentValue))") }
    let answer = try await texts.fetch()
    say("landed \(Self.text(answer))")
    say("shown \(Self.text(texts.currentValue))")
    withExtendedLifetime(subscription) {}
  }

  /// The texts of mutations, by identifier.
  private final class Names: Sendable {
    private let names = Mutex([UUID: String]())

    subscript(id: UUID) -> String? { self.names.withLock { $0[id] } }

    func add(_ id: UUID, _ name: String) { self.names.withLock { $0[id] = name } }
  }
}
