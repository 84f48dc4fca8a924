import Foundation
import QuerySQLite
import TestSupport
import Testing

@testable import Query

/// What was entered is shown by every process, whichever of them has sent it or was killed.
@Suite(.warningsAreIssues) struct OptimisticProcessTests {
  /// How often a process is killed, 200 times in the full run.
  private static let rounds =
    ProcessInfo.processInfo.environment["FULL"] != nil ? 200 : Sanitizer.isOn ? 4 : 20

  /// What the worker enqueues.
  private struct LaneNote: Codable, Sendable {
    let lane: String
    let number: Int
  }

  private struct SendNote: MutationRequest {
    typealias Arguments = LaneNote

    var path: QueryPath { ["send-note"] }

    func mutate(
      with note: LaneNote, in context: QueryContext, with continuation: QueryContinuation<Void>
    ) async throws { throw TestError() }
  }

  /// What the worker shows; there is no server any more.
  private struct NoteTexts: QueryRequest {
    typealias State = QueryState<[String]?, [String]>

    var path: QueryPath { ["note-texts"] }

    func fetch(
      in context: QueryContext, with continuation: QueryContinuation<[String]>
    ) async throws -> [String] { throw TestError() }
  }

  private static let list = NoteTexts().persisted()

  private static let send = SendNote().persisted(as: "send-note", .init(scope: .by { $0.lane }))
    .optimistic(
      on: { _ in NoteTexts().persisted() },
      { texts, note, _ in
        let text = "\(note.lane)/\(note.number)"
        texts = ((texts ?? []).filter { $0 != text } + [text]).sorted()
      })

  /// What the next launch shows without a network, and what the stored value beneath is.
  private func launch(_ folder: ScratchFolder) async throws -> (shown: [String], stored: [String]) {
    let storage = try SQLiteQueryStorage(directory: folder.url)
    // One that knows no edit sees what is stored.
    let stored = QueryClient(storage: storage, storeCreator: BareStores()).store(for: Self.list)
      .currentValue
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    try client.register(Self.send)
    let shown = client.store(for: Self.list).currentValue
    try await storage.close()
    return (shown ?? [], stored ?? [])
  }

  @Test func whatWasSettledIsShownAfterAKillBeforeTheCacheHasIt() async throws {
    for round in 1...Self.rounds {
      let folder = try ScratchFolder()
      let server = try LoopbackServer { request, _ in
        .status(200, body: request.method == "GET" ? #"["base/0"]"# : "")
      }
      // Of every other one the kill may come too late to say anything: the cache follows 50 ms later.
      let writesLate = round % 2 == 1
      let worker = try ReplayProcess(
        ["enter", folder.path, server.url.absoluteString, "a", "3", "1"],
        writeDelayMilliseconds: writesLate ? 3_600_000 : nil)
      var (entered, settled) = ([String](), [String]())
      for await line in worker.child.lines {
        let words = line.split(separator: " ").map(String.init)
        if words[0] == "entered" { entered.append(words[1]) }
        guard words[0] == "settled" else { continue }
        settled.append(words[1])
        // It is committed to the outbox.
        if settled.count == round % 3 + 1 { worker.child.kill() }
      }
      _ = await worker.child.end()
      let (shown, stored) = try await self.launch(folder)
      #expect(shown == (["base/0"] + entered).sorted(), "round \(round)")
      if writesLate { #expect(!Set(settled).isSubset(of: stored), "round \(round)") }
    }
  }

  @Test func aFetchOfOneProcessDoesNotHideWhatAnotherOneHasSentMeanwhile() async throws {
    let folder = try ScratchFolder()
    let gate = Gate()
    let server = try LoopbackServer { request, _ in
      // What the server read before the write arrives after it.
      request.method == "GET" ? .afterGate(gate, .status(200, body: #"["base/0"]"#)) : .status(200)
    }
    let url = server.url.absoluteString
    let shower = try ReplayProcess(["show", folder.path, url])
    await server.requests.wait { $0.contains { $0.method == "GET" } }
    let sender = try ReplayProcess(["enter", folder.path, url, "b", "2", "0"])
    var settled = 0
    for await line in sender.child.lines where line.hasPrefix("settled") {
      settled += 1
      if settled == 2 { break }
    }
    var shown = [[String]]()
    for await line in shower.child.lines {
      let words = line.split(separator: " ").map(String.init)
      if words[0] == "landed" { #expect(words == ["landed", "base/0"]) }
      guard words[0] == "shown" else { continue }
      shown.append(Array(words.dropFirst()))
      if shown.last == ["b/0", "b/1"] { gate.open() }
    }
    #expect(await shower.child.end() == .code(0))
    #expect(shown.last == ["b/0", "b/1", "base/0"])
    for text in ["b/0", "b/1"] {
      let first = try #require(shown.firstIndex { $0.contains(text) })
      for later in shown[first...] { #expect(later.contains(text)) }
    }
    sender.child.kill()
    _ = await sender.child.end()
    #expect(try await self.launch(folder).shown == ["b/0", "b/1", "base/0"])
  }

  @Test func aValueThatIsTakenOverBringsItsMark() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { request, _ in
      .status(200, body: request.method == "GET" ? #"["base/0"]"# : "")
    }
    var configuration = SQLiteQueryStorage.Configuration()
    configuration.followsOtherProcesses = true
    let storage = try SQLiteQueryStorage(directory: folder.url, configuration: configuration)
    let client = QueryClient(storage: storage, storeCreator: BareStores())
    try client.register(Self.send)
    let texts = client.store(for: Self.list)
    #expect(texts.currentValue == nil)
    let worker = try ReplayProcess(["enter", folder.path, server.url.absoluteString, "a", "2", "1"])
    for await _ in texts.states where texts.storedValue == ["a/0", "a/1", "base/0"] { break }
    #expect(texts.optimisticMark?.sequence == 2)
    #expect(texts.currentValue == ["a/0", "a/1", "base/0"])
    worker.child.kill()
    _ = await worker.child.end()
    try await storage.close()
  }
}
