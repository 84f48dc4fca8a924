import Foundation
import Testing

/// The tools: the names in a store are completed by the tool itself.
@Suite struct CompletionWordsTests {
  private static let script = """
    PATH="$(dirname "$TOOL"):$PATH"
    source <(cache-inspect --generate-completion bash)
    complete_line() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _cache_inspect; echo "${COMPREPLY[@]}"; }
    """

  @Test func identifiersAndHashesAreOffered() async throws {
    let store = try SampleStore()
    let ids = try await store.inspect("outbox", "--json").lines.compactMap {
      $0.firstMatch(of: #/"id":"([^"]+)"/#).map { String($0.1) }
    }
    let first = try #require(ids.first)
    let offered = Set(ids).filter { $0.hasPrefix(first.prefix(12)) }.sorted().joined(separator: " ")
    let shell = try await Shell.run(
      """
      \(Self.script)
      complete_line cache-inspect outbox why -s "$STORE" \(first.prefix(12))
      complete_line cache-inspect outbox show --store = "$STORE" \(first.prefix(12))
      complete_line cache-inspect show -s "$STORE" b9b7
      complete_line cache-inspect remove -s "$STORE" --y
      """, store)
    let lines = shell.text.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0] == offered)
    #expect(lines[1] == offered)
    #expect(lines[2].hasPrefix("b9b7") && lines[2].count == 12)
    #expect(lines[3] == "--yes")
  }

  @Test func applicationsAreOffered() async throws {
    let home = try SampleStore(isEmpty: true)
    for path in [
      ".cache/org.example.one/cache.sqlite", ".local/share/org.example.two/mutations.sqlite",
      ".cache/org.example.one.too/other",
    ] {
      let url = URL(filePath: home.path).appending(path: path)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data().write(to: url)
    }
    let shell = try await Shell.run(
      """
      export HOME="$STORE"; unset XDG_CACHE_HOME XDG_DATA_HOME
      \(Self.script)
      complete_line cache-inspect list -a org
      complete_line cache-inspect list --application = org.example.t
      """, home)
    #expect(shell.text == "org.example.one org.example.two\norg.example.two")
  }

  @Test func aHalfOfAStoreSaysWhereTheOtherIs() async throws {
    let store = try SampleStore()
    let home = try SampleStore(isEmpty: true)
    for (kind, folder) in [("cache", ".cache"), ("mutations", ".local/share")] {
      let url = URL(filePath: home.path).appending(path: "\(folder)/org.example.sample")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      for name in try FileManager.default.contentsOfDirectory(atPath: store.path)
      where name.hasPrefix("\(kind).sqlite") {
        try FileManager.default.copyItem(
          atPath: "\(store.path)/\(name)", toPath: url.appending(path: name).path)
      }
    }
    let run = try await InspectorRun(
      ["stats", "-s", "\(home.path)/.cache/org.example.sample/"],
      environment: ["HOME": home.path])
    #expect(run.code == 0)
    #expect(run.errors.count == 1)
    #expect(run.errors.first?.contains("\(home.path)/.local/share/org.example.sample;") == true)
    #expect(run.errors.first?.contains("--application org.example.sample") == true)
    let whole = try await InspectorRun(
      ["stats", "-a", "org.example.sample"], environment: ["HOME": home.path])
    #expect(whole.code == 0 && whole.errors == [])
  }
}
