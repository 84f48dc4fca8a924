import Foundation
import TestSupport
import Testing

/// The journal's socket has one name, so the tool sees it in a mount of its own.
private let mayMount = getuid() == 0 && ChildProcess.system("unshare") != nil

/// Under systemd each line of a run is a message of the journal that a write is found by.
@Suite(.enabled(if: mayMount, "this user may not mount"))
struct JournalRunTests {
  private static let script = """
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/journal
    touch /run/systemd/journal/socket
    mount --bind "$1" /run/systemd/journal/socket
    JOURNAL_STREAM=$(stat -Lc %d:%i /proc/$$/fd/1)
    export JOURNAL_STREAM
    exec "$2" run --once --even-offline --store "$3"
    """

  @Test func theLifeOfAWriteIsFoundByItsIdentifier() async throws {
    let server = try LoopbackServer { _, _ in .status(400) }
    let store = try ReplayStore()
    let id = "3f000000-0000-0000-0000-000000000000"
    try await store.add(to: server.url, ids: [.starting("3f")])
    let journal = try FakeJournal()
    let unshare = try #require(ChildProcess.system("unshare"))
    let child = try ChildProcess(
      unshare,
      [
        "--mount", "--propagation", "private", "bash", "-euc", Self.script, "-", journal.path,
        try ChildProcess.product("mutation-replay"), store.path,
      ], environment: ToolRun.environment)
    var lines = [String]()
    for await line in child.lines { lines.append(line) }
    #expect(await child.end() == .code(76))
    // What is in the journal is not printed once more.
    #expect(lines == ["0 sent, 0 failed, 0 waiting, 1 dead"])
    let begun = try journal.receive()
    #expect(begun["MESSAGE"] == "sending \(id) http/1")
    #expect(begun["PRIORITY"] == "6" && begun["SYSLOG_IDENTIFIER"] == "mutation-replay")
    #expect(begun["MUTATION_ID"] == id && begun["MUTATION_NAME"] == "http/1")
    let dead = try journal.receive()
    #expect(dead["MUTATION_ID"] == id && dead["PRIORITY"] == "3")
    #expect(dead["MUTATION_REASON"]?.isEmpty == false)
  }
}
