import Foundation
import TestSupport
import Testing

/// `Tools/install`, as far as it builds nothing.
@Suite(.enabled(if: ChildProcess.system("bash") != nil, "there is no bash"))
struct InstallScriptTests {
  private let store: ReplayStore

  init() throws { self.store = try ReplayStore() }

  private func run(_ words: String...) async throws -> (end: ChildProcess.End, errors: [String]) {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    let script = folder.appending(path: "Tools/install").path
    let child = try ChildProcess(
      try #require(ChildProcess.system("bash")), [script] + words,
      environment: ["DESTDIR": ""], errors: .pipe)
    var errors = [String]()
    for await _ in child.lines {}
    for await line in child.errorLines { errors.append(line) }
    return (await child.end(), errors)
  }

  private func write(_ name: String, _ text: String = "") throws {
    let url = self.store.folder.appending(path: name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: self.store.folder.appending(path: name).path)
  }

  @Test(arguments: [
    ["--prefix"], ["--prefix="], ["--prefix", "relative"], ["--prefix", "/a/../b"],
    ["--prefix", "/a b"], ["--prefix", "/a%i"], ["--nothing"], ["word"],
  ])
  func aWrongCommandLineEndsWith64AndOneLine(_ words: [String]) async throws {
    let first = words[0]
    let run = try await words.count > 1 ? self.run(first, words[1]) : self.run(first)
    #expect(run.end == .code(64))
    #expect(run.errors.count == 1)
  }

  @Test func helpIsShown() async throws {
    #expect(try await self.run("--help").end == .code(0))
  }

  @Test func nothingIsUninstalledWhereNothingWasInstalled() async throws {
    try self.write("bin/mutation-replay")
    let run = try await self.run("--uninstall", "--prefix", "\(self.store.path)")
    #expect(run.end == .code(66))
    #expect(self.exists("bin/mutation-replay"))
  }

  @Test func whatWasInstalledIsRemovedAndNothingElse() async throws {
    let manifest = "prefix/share/offline-query/installed"
    for name in ["outside", "prefix/bin/mutation-replay", "prefix/bin/other", "prefix/lib/x"] {
      try self.write(name)
    }
    try self.write(
      manifest,
      """
      file bin/mutation-replay
      file lib/x
      file ../outside
      file \(self.store.path)/outside
      file share/offline-query/installed
      folder bin
      folder lib
      folder share
      folder share/offline-query
      folder .

      """)
    let run = try await self.run("--prefix=\(self.store.path)prefix", "--uninstall")
    #expect(run.end == .code(0))
    #expect(run.errors == [])
    #expect(self.exists("outside"))
    #expect(self.exists("prefix/bin/other"))
    for name in ["prefix/bin/mutation-replay", "prefix/lib", "prefix/share"] {
      #expect(!self.exists(name))
    }
  }

  @Test func aFileOfSomebodyElseIsNotOverwritten() async throws {
    try self.write("bin/cache-inspect", "mine")
    let run = try await self.run("--prefix", self.store.path)
    #expect(run.end == .code(74))
    #expect(run.errors.count == 1)
    let text = try String(
      contentsOf: self.store.folder.appending(path: "bin/cache-inspect"), encoding: .utf8)
    #expect(text == "mine")
  }
}
