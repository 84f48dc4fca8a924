import Foundation
import Query
import TestSupport
import Testing

@testable import SystemJournal

/// Shipping: what the journal gets, by a socket that stands for its own.
@Suite struct JournalQueryLoggerTests {
  @Test func aMessageIsOneDatagramOfFields() throws {
    let journal = try FakeJournal()
    let logger = JournalQueryLogger(identifier: "notes", socketPath: journal.path)
    logger.log(
      level: .warning, fields: [.mutationID: "3f2a", .mutationReason: "offline"],
      message: "failed")
    #expect(
      try journal.receive() == [
        "MESSAGE": "failed", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "notes",
        "MUTATION_ID": "3f2a", "MUTATION_REASON": "offline",
      ])
  }

  @Test(arguments: ["", "\n", "a\nb", "x=y", "é\n🚲\n", "\nMUTATION_ID=forged"])
  func aValueIsNeverTakenForAField(_ text: String) throws {
    let journal = try FakeJournal()
    let logger = JournalQueryLogger(identifier: text, socketPath: journal.path)
    logger.log(level: .info, fields: [.queryPath: text], message: text)
    #expect(
      try journal.receive() == [
        "MESSAGE": text, "PRIORITY": "6", "SYSLOG_IDENTIFIER": text, "QUERY_PATH": text,
      ])
  }

  @Test func levelsAreThoseOfSyslog() throws {
    let journal = try FakeJournal()
    let logger = JournalQueryLogger(socketPath: journal.path)
    let priorities = try QueryLogLevel.allCases.map { level in
      logger.log(level: level, message: "x")
      return try journal.receive()["PRIORITY"]
    }
    #expect(priorities == ["7", "7", "6", "5", "4", "3", "2"])
  }

  @Test func aContextLogsByIt() async throws {
    let journal = try FakeJournal()
    var context = QueryContext()
    context.queryLogger = JournalQueryLogger(identifier: "notes", socketPath: journal.path)
    let client = QueryClient(defaultContext: context)
    let store = client.store(for: BlockQuery(["a"]) { _ in 1 }.logDuration(at: .notice))
    #expect(try await store.fetch() == 1)
    let message = try journal.receive()
    #expect(message["PRIORITY"] == "5")
    #expect(message["MESSAGE"]?.contains("took") == true)
  }

  @Test func withoutAJournalNothingIsSent() throws {
    #expect(JournalSocket("/nonexistent/socket") == nil)
    #expect(JournalSocket(String(repeating: "x", count: 300)) == nil)
    let journal = try FakeJournal()
    let socket = try #require(JournalSocket(journal.path))
    #expect(!socket.send([UInt8](repeating: 0, count: 64 << 20)))
    journal.end()
    #expect(!socket.send([1]))
  }

  @Test func aPipeIsNotTheJournal() {
    #expect(!JournalQueryLogger.isJournal(STDIN_FILENO))
    #expect(!JournalQueryLogger.isJournal(-1))
  }
}
