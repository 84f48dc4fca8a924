import Foundation
import TestSupport
import Testing

/// The demo client without its server. `Tools/demo` tells the rest of its story.
@Suite struct FieldNotesTests {
  @Test(arguments: [
    [], ["bogus"], ["list"], ["--pages", "0", "list", "a"], ["--server", "nowhere", "folders"],
    ["--wrong"], ["--store"],
  ])
  func whatCannotBeUnderstoodIsRefusedInOneLine(_ arguments: [String]) async throws {
    let said = try await Said(arguments)
    #expect(said.code == 64)
    #expect(said.lines.isEmpty)
    #expect(said.errors.count == 1)
    #expect(said.errors.first?.hasSuffix("see field-notes --help") == true)
  }

  @Test func theHelpHasAnExampleAndTheExitCodes() async throws {
    let said = try await Said(["--help"])
    #expect(said.code == 0)
    #expect(said.lines.contains { $0.hasPrefix("Example: field-notes") })
    #expect(said.lines.contains { $0.hasPrefix("Exit codes:") })
  }

  @Test func theFirstLaunchWithoutAServerSaysSo() async throws {
    let folder = try NotesFolder()
    let said = try await Said(folder.arguments + ["list", "Countries"])
    #expect(said.code == 69)
    #expect(said.lines.isEmpty)
    #expect(
      said.errors == ["field-notes: the server was not reached; nothing of this was seen before"])
  }

  @Test func whatIsEnteredWithoutAServerIsKeptInOrderAndSaysWhatItWaitsFor() async throws {
    let folder = try NotesFolder()
    let created = try await Said(folder.arguments + ["create", "Trees", "Yew"])
    #expect(created.code == 0)
    let words = try #require(created.lines.first).split(separator: " ")
    #expect(words.first == "saved")
    let alias = String(words[1].dropLast())
    let edited = try await Said(folder.arguments + ["edit", alias, "old"])
    #expect(edited.lines == ["saved \(alias), and not sent yet"])
    // The list shows what is not sent, in a folder that was never seen, too.
    let list = try await Said(folder.arguments + ["list", "Trees"])
    #expect(list.lines == ["\(alias)  Yew  old  [not sent]"])
    let unsent = try await Said(folder.arguments + ["unsent"])
    #expect(unsent.lines.map { $0.prefix { $0 != " " } } == ["create-note", "edit-note"])
    #expect(unsent.lines.last?.contains("which is before it in its lane") == true)
    let synced = try await Said(folder.arguments + ["sync"])
    #expect(synced.code == 75)
  }

  @Test func aStoreThatCannotBeMadeIsAnErrorOfTheDisk() async throws {
    let said = try await Said(
      ["--server", "http://127.0.0.1:1", "--store", "/dev/null/notes", "create", "Trees", "Yew"])
    #expect(said.code == 74)
    #expect(said.errors.count == 1)
  }
}

/// The demo client with its server.
@Suite(.serialized) struct FieldNotesServerTests {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Tools/field-notes/server/field_notes_server.py").path

  /// What another client changes comes by the server's stream, and of the list only what has changed.
  @Test func aListThatIsWatchedShowsWhatAnotherClientChanges() async throws {
    let folder = try NotesFolder()
    // Without the lists of the ISO, so that there are the folders of a few words.
    let server = try ChildProcess(
      "/usr/bin/python3", [Self.script, "--iso-codes", "/dev/null", "--log", folder.file("log")])
    let url = try #require(await server.line())
    let watcher = try ChildProcess(
      ChildProcess.product("field-notes"),
      ["--server", url, "--store", folder.file("watcher"), "watch", "Trees"])
    for _ in 0..<16 { #expect(await watcher.line() != nil) }
    let other = ["--server", url, "--store", folder.file("other")]
    // Nothing is missed if the stream opens after this: the list is fetched once it is open.
    let created = try await Said(other + ["create", "Trees", "Zelkova"])
    #expect(created.lines == ["created note-1"])
    #expect(await watcher.line() == "note-1  Zelkova    [1]")
    _ = try await Said(other + ["edit", "note-1", "tall"])
    #expect(await watcher.line() == "note-1  Zelkova  tall  [2]")
    _ = try await Said(other + ["delete", "note-1"])
    #expect(await watcher.line() == "note-1  is gone")
    watcher.terminate()
    #expect(await watcher.end() == .code(0))
    let log = try String(contentsOfFile: folder.file("log"), encoding: .utf8)
    let streams = log.split(separator: "\n").filter { $0.contains("\"answer\": \"begun\"") }
    #expect(streams.count == 1)
  }

  @Test func aFolderThatIsKeptIsThereWithoutItsServer() async throws {
    let folder = try NotesFolder()
    let server = try ChildProcess(
      "/usr/bin/python3", [Self.script, "--iso-codes", "/dev/null"])
    let url = try #require(await server.line())
    let here = ["--server", url, "--store", folder.file("here")]
    let kept = try await Said(here + ["keep", "Birds"])
    #expect(kept.code == 0)
    #expect(kept.lines.first?.hasPrefix("kept Birds, ") == true)
    server.terminate()
    _ = await server.end()
    let list = try await Said(here + ["list", "Birds"])
    #expect(list.lines.count == 14)
    let missing = try await Said(here + ["keep", "Stones"])
    #expect(missing.code == 75)
    #expect(missing.errors.count == 1)
    #expect(try await Said(here + ["let-go", "Birds"]).lines == ["let go of Birds"])
  }
}

/// A folder for a store, and the address of a server that is not there.
private final class NotesFolder: Sendable {
  private let url = FileManager.default.temporaryDirectory
    .appending(path: "field-notes-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: self.url) }

  func file(_ name: String) -> String { self.url.appending(path: name).path }

  /// Nobody listens on the first port.
  var arguments: [String] { ["--server", "http://127.0.0.1:1", "--store", self.url.path] }
}

/// What a run of the client has said.
private struct Said {
  var code: Int32?
  var lines = [String]()
  var errors = [String]()

  init(_ arguments: [String]) async throws {
    let process = try ChildProcess(ChildProcess.product("field-notes"), arguments, errors: .pipe)
    while let line = await process.line() { self.lines.append(line) }
    while let line = await process.errorLine() { self.errors.append(line) }
    if case .code(let code) = await process.end() { self.code = code }
  }
}
