import Foundation
import Testing

/// The tools: JSON has stable keys, one object a line, and says the same as the table.
@Suite struct GoldenTests {
  struct Command: CustomTestStringConvertible, Sendable {
    let name: String
    let words: [String]
    var code: Int32 = 0

    var testDescription: String { self.name }
  }

  private static let commands = [
    Command(name: "list", words: ["list"]),
    Command(name: "list-size", words: ["list", "--sort=size", "-n3"]),
    Command(name: "list-matching", words: ["list", "--matching", "[\"notes\"]", "--sort", "age"]),
    Command(name: "list-failed", words: ["list", "--failed"]),
    Command(name: "list-invalidated", words: ["list", "--invalidated"]),
    Command(name: "show-json", words: ["show", "[\"notes\",1]"]),
    Command(name: "show-pending", words: ["show", "[\"notes\",1]", "--with-pending"]),
    Command(name: "show-no-pending", words: ["show", "b9b7", "--with-pending"]),
    Command(name: "show-property-list", words: ["show", "[\"notes\",2]"]),
    Command(name: "show-infinite", words: ["show", "b9b7"]),
    Command(name: "show-hostile", words: ["show", "092f5f"]),
    Command(name: "pages", words: ["pages", "b9b7"]),
    Command(name: "page", words: ["pages", "b9b7", "--page", "#1"]),
    Command(name: "history", words: ["history"]),
    Command(name: "history-name", words: ["history", "save-note", "--limit", "1"]),
    Command(name: "outbox", words: ["outbox"]),
    Command(name: "outbox-show", words: ["outbox", "show", "2"]),
    Command(name: "outbox-why", words: ["outbox", "why", "4"]),
    Command(name: "check", words: ["check"]),
    Command(name: "quarantine", words: ["quarantine", "list"]),
  ]

  @Test(arguments: commands)
  func theJSONOfACommandIsAlwaysTheSame(_ command: Command) async throws {
    let store = try SampleStore()
    let run = try await InspectorRun(command.words + ["--store", store.path, "--json"])
    #expect(run.code == command.code)
    #expect(run.errors == [])
    for line in run.lines {
      #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
    }
    try SampleStore.expectGolden(run.lines, "\(command.name).json")
  }

  @Test(arguments: commands)
  func theTextOfACommandIsAlwaysTheSame(_ command: Command) async throws {
    let store = try SampleStore()
    let run = try await InspectorRun(command.words + ["--store", store.path, "--utc"])
    #expect(run.code == command.code)
    // Ages grow.
    let lines = run.lines.map {
      $0.replacing(#/ *[0-9]+ d ago/#, with: " AGE")
    }
    try SampleStore.expectGolden(lines, "\(command.name).txt")
  }

  /// What it says of files depends on the release of SQLite.
  @Test func theStatisticsSayTheSameInBothForms() async throws {
    let store = try SampleStore()
    let json = try await store.inspect("stats", "--json")
    #expect(json.code == 0 && json.lines.count == 1)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
    #expect(object.keys.sorted() == ["ages", "files", "kinds", "largest", "limits", "partitions"])
    var rest = object
    rest["files"] = nil
    let text = try JSONSerialization.data(withJSONObject: rest, options: [.sortedKeys])
    try SampleStore.expectGolden([String(decoding: text, as: UTF8.self)], "stats.json")
    let table = try await store.inspect("stats")
    #expect(table.code == 0)
    for word in ["cache.sqlite", "mutations.sqlite", "query", "infinite", "7-30 d", "d974c0037a3e"]
    {
      #expect(table.text.contains(word), "\(word)")
    }
  }

  @Test func theBytesOfAValueAreThoseThatAreStored() async throws {
    let store = try SampleStore()
    let shell = try await Shell.run(
      "\"$TOOL\" show -s \"$STORE\" '[\"texts\",\"plain\"]' --value | od -An -c", store)
    #expect(shell.text.split(separator: " ").joined() == "\"atext\"")
    let page = try await Shell.run(
      "\"$TOOL\" pages -s \"$STORE\" b9b7 --page 2 --value | od -An -c", store)
    #expect(page.text.split(separator: " ").joined() == "\"page2\"")
  }
}
