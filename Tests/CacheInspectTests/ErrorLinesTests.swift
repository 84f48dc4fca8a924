import Foundation
import QuerySQLite
import TestSupport
import Testing

/// The tools: each failure has its exit code, and one line on the standard error that says what to do.
@Suite struct ErrorLinesTests {
  private static func expect(
    _ run: InspectorRun, _ code: Int32, _ words: String...,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(run.code == code, "\(run)", sourceLocation: sourceLocation)
    #expect(run.errors.count == 1, "\(run.errors)", sourceLocation: sourceLocation)
    for word in words {
      #expect(
        run.errors.first?.contains(word) == true, "\(run.errors)", sourceLocation: sourceLocation)
    }
    #expect(
      run.errors.first?.hasPrefix("cache-inspect: ") == true, sourceLocation: sourceLocation)
  }

  @Test func aCommandLineThatCannotBeUnderstoodEndsWith64() async throws {
    Self.expect(try await InspectorRun(["lsit"]), 64, "list")
    Self.expect(try await InspectorRun(["list"]), 64, "--store")
    Self.expect(try await InspectorRun(["list", "-s", "a", "-a", "b"]), 64, "not both")
    Self.expect(try await InspectorRun(["list", "-s", "a", "--sort", "odd"]), 64, "size")
    Self.expect(try await InspectorRun(["list", "-s", "a", "--limt", "3"]), 64, "--limit")
    Self.expect(try await InspectorRun(["list", "-a", "../evil"]), 64, "slash")
    let store = try SampleStore()
    Self.expect(try await store.inspect("show", "nothing"), 64, "no entry")
    Self.expect(try await store.inspect("outbox", "show", "99"), 64, "no mutation")
    Self.expect(try await store.inspect("list", "-p", "other"), 64, "partition")
    Self.expect(try await store.inspect("evict", "--yes"), 64, "--older-than")
    Self.expect(try await store.inspect("quarantine", "drop", "--yes"), 64, "--all")
  }

  @Test func anAmbiguousBeginningNamesItsCandidates() async throws {
    let store = try SampleStore()
    Self.expect(try await store.inspect("show", "b"), 64, "b9b7026cd107", "bfe95cbc52dd", "2")
    Self.expect(try await store.inspect("outbox", "show", "10000000"), 64, "000000000004")
  }

  @Test func whereThereIsNoStoreItEndsWith66() async throws {
    let store = try SampleStore(isEmpty: true)
    for command in [["list"], ["check"], ["vacuum", "--yes"], ["stats", "--json"]] {
      Self.expect(
        try await InspectorRun(command + ["-s", store.path + "/none"]), 66, "no store", "--store")
    }
    Self.expect(
      try await InspectorRun(
        ["list", "-a", "org.example.none"], environment: ["HOME": store.path]), 66,
      "\(store.path)/.cache/org.example.none")
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.path) == [])
  }

  /// A file with a header and no tables, as an application has it that makes it just now.
  @Test(
    .enabled(if: ChildProcess.system("sqlite3") != nil, "there is no shell of SQLite"),
    arguments: [["cache"], ["mutations"], ["cache", "mutations"]])
  func aStoreThatIsBeingMadeIsEmpty(_ kinds: [String]) async throws {
    let store = try SampleStore(isEmpty: true)
    for kind in kinds {
      try ChildProcess.run(
        ChildProcess.system("sqlite3") ?? "sqlite3",
        ["\(store.path)/\(kind).sqlite", "PRAGMA journal_mode = WAL"])
    }
    for command in [
      ["list"], ["outbox"], ["stats"], ["check"], ["export", "--outbox"], ["history"],
    ] {
      let run = try await InspectorRun(command + ["-s", store.path])
      // There is no account that could be exported.
      #expect([0, 64, 66].contains(run.code), "\(command): \(run)")
      #expect(!run.errors.contains { $0.contains("no cache database") }, "\(run.errors)")
      #expect(!run.errors.contains { $0.contains("no mutations database") }, "\(run.errors)")
    }
  }

  @Test func anApplicationIsFoundByItsIdentifier() async throws {
    let store = try SampleStore()
    let home = try SampleStore(isEmpty: true)
    let manager = FileManager.default
    for (folder, file) in [(".cache", "cache.sqlite"), (".local/share", "mutations.sqlite")] {
      let folder = "\(home.path)/\(folder)/org.example.notes"
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for suffix in ["", "-wal"] where manager.fileExists(atPath: "\(store.path)/\(file)\(suffix)")
      {
        try manager.copyItem(
          atPath: "\(store.path)/\(file)\(suffix)", toPath: "\(folder)/\(file)\(suffix)")
      }
    }
    let run = try await InspectorRun(
      ["stats", "-a", "org.example.notes"], environment: ["HOME": home.path])
    #expect(run.code == 0)
    #expect(run.text.contains(".cache/org.example.notes"))
    #expect(run.text.contains(".local/share/org.example.notes"))
  }

  @Test func badDataEndsWith65() async throws {
    let store = try SampleStore()
    let path = "\(store.path)/cache.sqlite"
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    try Data(repeating: 7, count: 10_000).write(to: URL(filePath: path))
    Self.expect(try await store.inspect("list"), 65, "check")
    let check = try await store.inspect("check")
    #expect(check.code == 65 && check.lines.first?.hasPrefix("unreadableFile") == true)
    try Data("{}\n".utf8).write(to: URL(filePath: "\(store.path)/bad"))
    Self.expect(try await store.inspect("import", "\(store.path)/bad", "-y"), 65, "line 1")
    // What is in the other file is shown all the same.
    let outbox = try await store.inspect("outbox")
    #expect(outbox.code == 0 && outbox.lines.count == 5)
  }

  @Test func whatCannotBeReadOrWrittenEndsWith74() async throws {
    let store = try SampleStore()
    Self.expect(try await store.inspect("export", "-o", "/nonexistent/a"), 74, "/nonexistent/a")
    Self.expect(try await store.inspect("import", "/nonexistent/a", "-y"), 74)
    let full = try await Shell.run("\"$TOOL\" list -s \"$STORE\" > /dev/full", store)
    #expect(full.code == 74)
    if geteuid() == 0 { return }
    chmod("\(store.path)/cache.sqlite", 0)
    Self.expect(try await store.inspect("list"), 74)
  }

  @Test func whatWritesAsksOrNeedsYes() async throws {
    let store = try SampleStore()
    let commands = [
      ["remove", "[\"texts\",\"plain\"]"], ["evict", "--to-entries", "1"], ["vacuum"],
      ["quarantine", "drop", "--all"], ["import", SampleStore.golden("store.jsonl")],
    ]
    for command in commands {
      Self.expect(try await InspectorRun(command + ["-s", store.path]), 64, "--yes")
    }
    #expect(try await store.inspect("list").lines.count == 9)
  }

  @Test func aClosedPipeEndsQuietly() async throws {
    let store = try SampleStore()
    for command in ["list", "stats --json", "export --outbox", "outbox", "watch", "--help"] {
      let line = "\"$TOOL\" \(command) -s \"$STORE\" 2>/dev/null | true; echo ${PIPESTATUS[0]}"
      let shell = try await Shell.run(line, store)
      #expect(shell.text == "0", "\(command)")
    }
  }
}
