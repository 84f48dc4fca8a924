import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QuerySQLite

/// Files and folders that their user may not write to: what root may do, others may not, so a process
/// of another user tries it.
@Suite(.serialized) struct OtherUserTests {
  private static let user = "65534"

  /// Starts the worker as another user.
  private static func start(_ arguments: String...) throws -> ChildProcess {
    let command = ["--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups"]
    return try ChildProcess(
      ChildProcess.system("setpriv") ?? "setpriv",
      command + [try ChildProcess.product("storage-worker")] + arguments, errors: .null)
  }

  /// Whether this process may be another user, who may run the worker.
  static let isPossible: Bool = {
    guard geteuid() == 0, let child = try? Self.start("identities") else { return false }
    return child.waitUntilEnd() == .code(0)
  }()

  /// What may not be written, and how.
  static let cases: [[String: mode_t]] = [
    ["cache.sqlite": 0o444], ["mutations.sqlite": 0o444], ["": 0o555],
    ["cache.sqlite": 0o444, "mutations.sqlite": 0o444, "": 0o555],
    ["cache.lock": 0, "mutations.lock": 0], ["cache.sqlite": 0, "mutations.sqlite": 0],
  ]

  /// What the worker says: by what it has tried, what came of it.
  private static func use(_ folder: String) async throws -> [String: String] {
    let child = try Self.start("use", folder)
    var said = [String: String]()
    for await line in child.lines {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      said[words[0]] = words.count > 1 ? words[1] : ""
    }
    #expect(await child.end() == .code(0))
    return said
  }

  private static func set(_ modes: [String: mode_t], in folder: String, isOpen: Bool) {
    for (name, mode) in modes where name != "" {
      #expect(chmod("\(folder)/\(name)", isOpen ? 0o600 : mode) == 0, "\(name)")
    }
    if let mode = modes[""] { #expect(chmod(folder, isOpen ? 0o700 : mode) == 0) }
  }

  @Test(
    .enabled(if: Self.isPossible, "only root can start a process of another user"),
    arguments: Self.cases)
  func whatMayNotBeWrittenIsToldAndWorksOnceItMay(_ modes: [String: mode_t]) async throws {
    let folder = try TemporaryFolder()
    let scratch = try OutboxScratch(in: folder)
    try await scratch.add()
    try await scratch.storage.set(["a": "text"])
    try await scratch.storage.close()
    try ChildProcess.run("/bin/chown", ["-R", "\(Self.user):\(Self.user)", folder.path])
    Self.set(modes, in: folder.path, isOpen: false)
    let said = try await Self.use(folder.path)
    for (kind, step) in [("cache", "flush"), ("mutations", "enqueue")] {
      let answer = try #require(said[step])
      // For reading alone, cannot be opened, or permission.
      let isTold = ["3", "8", "14", "23"].contains(answer)
      if modes.keys.contains(where: { $0.hasPrefix(kind) }) {
        #expect(isTold, "\(step): \(answer)")
      } else if modes[""] != nil {
        // The log and the shm of the outbox may be there already.
        #expect(isTold || answer == "ok", "\(step): \(answer)")
      } else {
        #expect(answer == "ok", "\(step)")
      }
    }
    // What can be read is shown.
    if modes["cache.sqlite"] != 0 && modes["cache.lock"] == nil {
      #expect(said["value"] == "text")
    }
    #expect(said["fetched"] == "fetched")
    Self.set(modes, in: folder.path, isOpen: true)
    let after = try await Self.use(folder.path)
    #expect(after["flush"] == "ok" && after["enqueue"] == "ok" && after["value"] == "text")
    let isFirst = said["enqueue"] != "ok"
    #expect(after["entries"] == (isFirst ? "2" : "3"))
  }
}
