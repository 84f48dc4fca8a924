import Foundation
import Query
import QuerySQLite
import TestSupport
import Testing

@testable import QueryHTTP

/// A server whose stream breaks, repeats itself, reorders by one, forgets, and begins anew, and whose
/// validators do what they like: a client that follows it shows, once all is quiet, what one shows that
/// asks for all of it.
@Suite(.serialized) struct LiveModelTests {
  private static let walks: UInt64 =
    ProcessInfo.processInfo.environment["FULL"] == nil ? 30 : 2_000

  /// The versions of notes, by their ids.
  typealias Notes = [String: Int]
  private typealias Store = QueryStore<QueryState<Notes?, Notes>>

  /// How a client hears of changes.
  private enum Hearing: CaseIterable {
    case applies
    case asks
  }

  private struct Follower {
    let scratch: HTTPScratch
    let hearing: Hearing
    let server: NotesServer
    var client: QueryClient
    var store: Store
    var subscription: QuerySubscription

    init(_ server: NotesServer, _ hearing: Hearing) throws {
      self.scratch = try HTTPScratch()
      self.hearing = hearing
      self.server = server
      self.client = Self.client(self.scratch)
      self.store = Self.store(self.client, server, hearing)
      self.subscription = self.store.subscribe { _ in }
    }

    private static func client(_ scratch: HTTPScratch) -> QueryClient {
      scratch.client { $0.eventStreamDelayer = .noDelay }
    }

    private static func store(
      _ client: QueryClient, _ server: NotesServer, _ hearing: Hearing
    ) -> Store {
      let heard = server.heard
      let query = HTTPQuery(server.url("/notes"), as: Notes.self).stale(after: .seconds(3_600))
        .persisted()
      let update: LiveUpdate<Notes> =
        switch hearing {
        case .applies:
          .apply { notes, event in
            heard.append(event.data)
            let parts = event.data.split(separator: " ")
            guard parts.count == 2, let version = Int(parts[1]) else { return }
            // What comes late, or again, is known by its version.
            notes[String(parts[0])] = max(notes[String(parts[0])] ?? 0, version)
          }
        case .asks:
          .invalidate { event in
            heard.append(event.data)
            return [["http"]]
          }
        }
      return client.store(
        for: query.live(from: { EventStream(server.url("/events")) }, apply: update))
    }

    mutating func relaunch() async throws {
      self.subscription.cancel()
      try await self.scratch.relaunch()
      self.client = Self.client(self.scratch)
      self.store = Self.store(self.client, self.server, self.hearing)
      self.subscription = self.store.subscribe { _ in }
    }
  }

  @Test(arguments: SeededGenerator.seeds(walks))
  func aStreamShowsWhatPollingShows(_ seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let server = try NotesServer()
    let hearing = Hearing.allCases[Int(seed % 2)]
    var follower = try Follower(server, hearing)
    let polling = try HTTPScratch()
    let poll = polling.client().store(
      for: HTTPQuery(server.url("/notes"), as: Notes.self, policy: .none))
    var steps = [String]()
    for step in 0..<16 {
      let kind = Int.random(in: 0..<16, using: &random)
      steps.append("\(kind)")
      switch kind {
      case 0...5: server.change(&random)
      case 6, 7: server.breakStreams()
      case 8: server.forget()
      case 9: server.send("event: reset\n\n")
      case 10: server.renames.withLock { $0 = Int.random(in: 0..<3, using: &random) }
      case 11: try await follower.relaunch()
      case 12: _ = try await follower.store.fetch()
      case 13: follower.store.invalidate()
      default: break
      }
      guard kind > 13 || step == 15 else { continue }
      let mark = server.quieten()
      await server.heard.wait { $0.contains(mark) }
      while follower.store.isLoading || follower.store.isInvalidated { await Task.yield() }
      let expected = try await poll.fetch()
      let shown = follower.store.currentValue
      #expect(shown == expected, "seed \(seed), \(hearing), after \(steps.joined(separator: " "))")
      server.goOn()
      guard shown == expected else { break }
    }
    follower.subscription.cancel()
    withExtendedLifetime(follower.client) {}
    server.end()
    try await follower.scratch.storage.close()
    try await polling.storage.close()
  }
}

/// A server of notes, and of a stream of what changes of them.
private final class NotesServer: Sendable {
  private struct State {
    var notes = ["a": 1]
    var lastID = 0
    /// The events that it knows, by their ids.
    var known = [(id: Int, text: String)]()
    var forgotten = 0
    var streams = [StreamScript]()
    /// An event that comes after the next one.
    var late: (id: Int, data: String)?
    /// What each stream begins with while all is quiet.
    var mark: String?
    var marks = 0
    var isOver = false
  }

  /// The data of the events that a client has dealt with.
  let heard = Recorder<String>()
  /// 0: validators are what they should be; 1: they are renamed; 2: there are none.
  let renames = Locked(0)

  private let state = Locked(State())
  private let server: Locked<LoopbackServer?> = Locked(nil)
  private let root: String

  init() throws {
    let (state, renames) = (self.state, self.renames)
    let server = try LoopbackServer { request, number in
      guard request.line.contains("/events") else {
        return Self.read(request, state.withLock { $0.notes }, renames.withLock { $0 }, number)
      }
      return Self.open(request.headers["last-event-id"].map { Int($0) ?? -1 }, state)
    }
    self.root = server.root
    self.server.withLock { $0 = server }
  }

  func url(_ path: String) -> URL { URL(string: self.root + path) ?? URL(filePath: "/") }

  private static func read(
    _ request: ReceivedRequest, _ notes: LiveModelTests.Notes, _ renames: Int, _ number: Int
  ) -> LoopbackServer.Answer {
    let body =
      "{" + notes.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    let tag = "\"\(notes.sorted { $0.key < $1.key })\""
    let asked = request.headers["if-none-match"]
    switch renames {
    case 0: break
    // Another name for the same, with the old one known.
    case 1:
      let name = "W/" + tag
      return asked == tag || asked == name
        ? .status(304, headers: ["ETag": name]) : .status(200, headers: ["ETag": name], body: body)
    default: return .status(200, body: body)
    }
    return asked == tag
      ? .status(304, headers: ["ETag": tag]) : .status(200, headers: ["ETag": tag], body: body)
  }

  private static func open(_ lastID: Int?, _ state: Locked<State>) -> LoopbackServer.Answer {
    let script = StreamScript()
    return state.withLock { state in
      if let lastID, lastID < state.forgotten { return .status(410) }
      script.send(": open\n\n")
      if let lastID {
        for event in state.known where event.id > lastID { script.send(event.text) }
      }
      if let mark = state.mark { script.send("data: \(mark)\n\n") }
      if state.isOver { script.end() } else { state.streams.append(script) }
      return .pieces(script)
    }
  }

  private static func text(_ id: Int, _ data: String) -> String { "id: \(id)\ndata: \(data)\n\n" }

  /// A note has another version: told at once, twice, or after the next one.
  func change(_ random: inout SeededGenerator) {
    let name = String("abcd".randomElement(using: &random) ?? "a")
    let manner = Int.random(in: 0..<4, using: &random)
    self.state.withLock { state in
      let version = (state.notes[name] ?? 0) + 1
      state.notes[name] = version
      state.lastID += 1
      let data = "\(name) \(version)"
      let text = Self.text(state.lastID, data)
      state.known.append((state.lastID, text))
      if manner == 2, state.late == nil {
        state.late = (state.lastID, data)
        return
      }
      var texts = manner == 1 ? [text, text] : [text]
      if let late = state.late {
        // What overtakes another one does not have the id by which that would be left out.
        texts = [Self.text(late.id - 1, data), Self.text(state.lastID, late.data)]
        state.late = nil
      }
      for stream in state.streams { for text in texts { stream.send(text) } }
    }
  }

  func send(_ text: String) {
    self.state.withLock { state in for stream in state.streams { stream.send(text) } }
  }

  func breakStreams() {
    self.state.withLock { state in
      for stream in state.streams { stream.end() }
      state.streams = []
    }
  }

  func forget() {
    self.state.withLock { state in
      state.forgotten = state.lastID + 1
      state.lastID += 1
      state.known = []
      // A client that is connected has all of them; one that comes with an older id is told so.
    }
  }

  /// Says all that is to be said, and after it a mark, to those that come later as well.
  func quieten() -> String {
    self.state.withLock { state in
      state.marks += 1
      let mark = "mark\(state.marks)"
      state.mark = mark
      for stream in state.streams {
        if let late = state.late { stream.send(Self.text(late.id, late.data)) }
        stream.send("data: \(mark)\n\n")
      }
      state.late = nil
      return mark
    }
  }

  func goOn() { self.state.withLock { $0.mark = nil } }

  func end() {
    self.state.withLock { $0.isOver = true }
    self.breakStreams()
  }
}
