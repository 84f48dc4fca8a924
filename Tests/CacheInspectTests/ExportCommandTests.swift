import Foundation
import Query
import QuerySQLite
import Testing

/// The tools: a round trip of `export` and `import` is byte-identical, by files and by pipes.
@Suite struct ExportCommandTests {
  @Test func aRoundTripIsByteIdentical() async throws {
    let store = try SampleStore()
    let target = try SampleStore(isEmpty: true)
    let first = try await store.inspect("export", "--outbox")
    #expect(first.code == 0)
    let golden = try String(
      contentsOfFile: SampleStore.golden("store.jsonl"), encoding: .utf8)
    #expect(first.text + "\n" == golden)
    let imported = try await target.inspect(
      "import", "-", "--outbox", "--yes", "--json", input: first.text + "\n")
    #expect(imported.lines == [#"{"ended":1,"entries":8,"mutations":4}"#])
    #expect(imported.errors.first?.contains("must not send them too") == true)
    #expect(try await target.inspect("export", "--outbox").text == first.text)
    #expect(try await target.inspect("check").code == 0)
    // Its outbox is not empty any more.
    let again = try await target.inspect("import", "-", "--outbox", "-y", input: golden)
    #expect(again.code == 64)
    #expect(try await target.inspect("export", "--outbox").text == first.text)
  }

  @Test func whatWasPausedIsToldToBePaused() async throws {
    let store = try SampleStore()
    let storage = try SQLiteQueryStorage(directory: URL(filePath: store.path))
    try await storage.outbox.pause()
    try await storage.close()
    let export = try await store.inspect("export", "--outbox")
    #expect(export.code == 0)
    let target = try SampleStore(isEmpty: true)
    let imported = try await target.inspect(
      "import", "-", "--outbox", "--yes", input: export.text + "\n")
    #expect(imported.code == 0)
    #expect(imported.errors.last?.contains("sending is paused") == true)
  }

  /// As root, a rename would put a file in the place of a device.
  @Test func whatIsNoFileIsWrittenToAndALinkIsFollowed() async throws {
    let store = try SampleStore()
    let (real, link) = ("\(store.path)/real", "\(store.path)/link")
    try Data("old".utf8).write(to: URL(filePath: real))
    #expect(symlink(real, link) == 0)
    #expect(try await store.inspect("export", "-o", link).code == 0)
    #expect(try String(contentsOfFile: real, encoding: .utf8).count > 100)
    var status = stat()
    #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    // A device of the same kind, so that nothing is lost if it is replaced after all.
    let full = "\(store.path)/full"
    if mknod(full, S_IFCHR | 0o666, 0x107) == 0 {
      for (command, option) in [("export", "-o"), ("report", "-o"), ("metrics", "--out")] {
        #expect(try await store.inspect(command, option, full).code == 74, "\(command)")
        #expect(lstat(full, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
      }
    }
  }

  @Test func withoutTheOutboxValuesAndHistoryAreTaken() async throws {
    let store = try SampleStore()
    let target = try SampleStore(isEmpty: true)
    let file = "\(store.path)/export.jsonl"
    #expect(try await store.inspect("export", "-o", file).code == 0)
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    for partition in ["", "other"] {
      let run = try await target.inspect("import", file, "--yes", "--partition", partition)
      #expect(run.code == 0)
      let note = "cache-inspect: the export is of account \"\", and was written into \"other\""
      #expect(run.errors == (partition.isEmpty ? [] : [note]))
    }
    #expect(try await target.inspect("outbox").lines.count == 1)
    #expect(try await target.inspect("list").lines.count == 17)
    let both = try await target.inspect("export")
    #expect(both.code == 64 && both.errors.first?.contains("--partition") == true)
    let one = try await target.inspect("export", "--partition", "")
    #expect(one.text + "\n" == (try String(contentsOfFile: file, encoding: .utf8)))
  }

  /// What one account has entered is not sent in the name of another.
  @Test func mutationsStayWithTheirAccount() async throws {
    let target = try SampleStore(isEmpty: true)
    let golden = SampleStore.golden("store.jsonl")
    let run = try await target.inspect(
      "import", golden, "--outbox", "--yes", "--partition", "other")
    #expect(run.code == 64)
    let reason = "account \"\", and would be sent as those of \"other\""
    #expect(run.errors.first?.contains(reason) == true)
    #expect(try await target.inspect("outbox").code != 0, "there is still no store")
  }

  @Test func aDamagedExportWritesNothing() async throws {
    let golden = try String(contentsOfFile: SampleStore.golden("store.jsonl"), encoding: .utf8)
    let lines = golden.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let damaged = [
      lines.dropLast(2).joined(separator: "\n") + "\n",
      golden.replacing("\"version\":1", with: "\"version\":2"), String(golden.dropLast()),
      golden.replacing("ImEgdGV4dCI=", with: "ImIgdGV4dCI="), "", "\n",
    ]
    for text in damaged {
      let store = try SampleStore(isEmpty: true)
      let run = try await store.inspect("import", "-", "--yes", input: text)
      #expect(run.code == 65, "\(run.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: store.path) == [])
    }
  }

  /// What can be read only once is read once, whatever it is called.
  @Test func aPipeIsReadLikeTheStandardInput() async throws {
    let store = try SampleStore()
    let export = try await store.inspect("export").text + "\n"
    let target = try SampleStore(isEmpty: true)
    let run = try await target.inspect("import", "/dev/stdin", "--yes", input: export)
    #expect(run.code == 0 && run.errors == [])
    #expect(try await target.inspect("list").lines.count == 9)
    let shell = try await Shell.run(
      """
      "$TOOL" export -s "$STORE" -o "$STORE/e" && mkfifo "$STORE/pipe" && mkdir "$STORE/copy" || exit 1
      cat "$STORE/e" > "$STORE/pipe" &
      "$TOOL" import "$STORE/pipe" -y -s "$STORE/copy" && "$TOOL" list -s "$STORE/copy"
      """, store)
    #expect(shell.code == 0)
    #expect(shell.text.split(separator: "\n").count == 10)
  }

  @Test func aDamagedValueIsLeftOutAndTold() async throws {
    let store = try SampleStore()
    let shell = try await Shell.run(
      "sed -i 's/a text/b text/' \"$STORE\"/cache.sqlite*; \"$TOOL\" export -s \"$STORE\" -o \"$STORE/e\"",
      store)
    #expect(shell.code == 65)
    let target = try SampleStore(isEmpty: true)
    #expect(try await target.inspect("import", "\(store.path)/e", "-y").code == 0)
    #expect(try await target.inspect("list").lines.count == 8)
    let show = try await store.inspect("show", "[\"texts\",\"plain\"]")
    #expect(show.code == 65 && show.errors.first?.contains("damaged") == true)
  }
}
