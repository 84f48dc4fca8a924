import Foundation
import Testing

@testable import cache_inspect

/// Shipping: what a monitoring system reads, from the files alone.
@Suite struct MetricsCommandTests {
  /// A line of the text format: a comment, or a name with labels and a number.
  private static func isLine(_ line: String) -> Bool {
    let label = #/[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"/#
    let comment = #/# (HELP [a-z_]+ [^\n]+|TYPE [a-z_]+ gauge)/#
    let sample = #/[a-z_]+(\{(?<labels>.*)\})? -?[0-9]+/#
    if line.wholeMatch(of: comment) != nil { return true }
    guard let match = line.wholeMatch(of: sample) else { return false }
    guard var rest = match.labels else { return true }
    while let pair = rest.prefixMatch(of: label) {
      rest = rest[pair.range.upperBound...]
      if rest.first == "," { rest = rest.dropFirst() }
    }
    return rest.isEmpty
  }

  @Test func theTextIsAlwaysTheSameAndFollowsTheGrammar() async throws {
    let store = try SampleStore()
    let run = try await store.inspect("metrics")
    #expect(run.code == 0 && run.errors == [])
    for line in run.lines { #expect(Self.isLine(line), "\(line)") }
    // Ages grow, and sizes of files depend on the release of SQLite.
    let lines = run.lines.map {
      $0.replacing(#/((?:oldest_pending_seconds|(?:file|wal)_bytes\{.*\})) [0-9]+$/#) {
        "\($0.1) N"
      }
    }
    try SampleStore.expectGolden(lines, "metrics.txt")
  }

  @Test func eachMetricIsExplainedOnceAndBeforeItsSamples() async throws {
    let store = try SampleStore()
    var explained = Set<Substring>()
    for line in try await store.inspect("metrics").lines {
      let words = line.split(separator: " ")
      if words[1] == "TYPE" {
        #expect(explained.insert(words[2]).inserted)
      } else if words[0] != "#" {
        #expect(explained.contains(words[0].prefix { $0 != "{" }), "\(line)")
      }
    }
    #expect(explained.count >= 12)
  }

  @Test func whatIsPrivateNeverAppears() async throws {
    let store = try SampleStore()
    let text = try await store.inspect("metrics").text
    #expect(!text.contains(store.path))
    #expect(!text.contains("notes\\\""))
    let accounts = try await store.inspect("stats", "--json")
    struct Statistics: Decodable {
      struct Partition: Decodable { let name: String }
      let partitions: [Partition]
    }
    let statistics = try JSONDecoder().decode(Statistics.self, from: Data(accounts.text.utf8))
    for partition in statistics.partitions where !partition.name.isEmpty {
      #expect(!text.contains(partition.name))
    }
  }

  @Test func aFileIsWrittenWholeAndForEverybody() async throws {
    let store = try SampleStore()
    let target = try SampleStore(isEmpty: true)
    let path = "\(target.path)/notes.prom"
    let run = try await store.inspect("metrics", "--out", path)
    #expect(run.code == 0 && run.lines == [])
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.hasPrefix("# HELP offline_query_outbox_rows "))
    #expect(text.hasSuffix("\n"))
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o644)
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == ["notes.prom"])
    let failed = try await store.inspect("metrics", "--out", "\(target.path)/none/x.prom")
    #expect(failed.code == 74 && failed.errors.count == 1)
  }

  /// As two timers start them.
  @Test func twoWhoWriteAFileAtOnceEachWriteItWhole() throws {
    let target = try SampleStore(isEmpty: true)
    let path = "\(target.path)/notes.prom"
    let first = try NewFile(path, mode: 0o644)
    try first.write(Data("the first".utf8))
    let second = try NewFile(path, mode: 0o644)
    try second.write(Data("the second".utf8))
    try first.finish()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "the first")
    try second.write(Data(", whole".utf8))
    try second.finish()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "the second, whole")
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == ["notes.prom"])
  }

  @Test func theApplicationIsALabel() async throws {
    let store = try SampleStore()
    let home = try SampleStore(isEmpty: true)
    let folder = "\(home.path)/.local/share/org.example.sample"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: store.path)
    where name.hasPrefix("mutations.sqlite") {
      try FileManager.default.copyItem(atPath: "\(store.path)/\(name)", toPath: "\(folder)/\(name)")
    }
    let run = try await InspectorRun(
      ["metrics", "-a", "org.example.sample"], environment: ["HOME": home.path])
    #expect(run.code == 0)
    let samples = run.lines.filter { !$0.hasPrefix("#") }
    #expect(!samples.isEmpty)
    for line in samples { #expect(line.contains("application=\"org.example.sample\""), "\(line)") }
  }

  @Test func aHostileNameStaysWithinItsQuotes() {
    var text = MetricsText(labels: [:])
    text.add("rows", "Rows.", [(["name": "a\"} 1\nb\\\u{1b}[31m"], 2)])
    let lines = text.text.split(separator: "\n").map(String.init)
    #expect(lines.count == 3)
    for line in lines { #expect(Self.isLine(line), "\(line)") }
    #expect(lines.last == #"offline_query_rows{name="a\"} 1\\nb\\\\x1b[31m"} 2"#)
  }
}
