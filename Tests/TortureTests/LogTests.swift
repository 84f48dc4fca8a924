import Foundation
import Testing

@testable import torture

/// What workers and the server write is what the account reads.
@Suite struct LogTests {
  private static func withFile(_ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test func acknowledgementsAreReadAndHalfALineIsNot() throws {
    try Self.withFile { path in
      let log = try LineLog(appendingTo: path)
      let mutation = SentMutation(lane: "a", writer: "2", number: 5)
      log.append(["mutation", "key"] + mutation.words)
      log.append(["mutation", "-", "b", "2", "6"])
      log.append(["value", "2-1", "9"])
      log.append(["value", "2-1", "8"])
      log.append(["complaint", "77", "5", "2.1", "the database\nis locked"])
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("value 2-1 10".utf8))
      var read = Acknowledgements()
      read.read(path)
      #expect(read.mutations.count == 2)
      #expect(read.mutations[mutation] == .some("key"))
      #expect(read.mutations[SentMutation(lane: "b", writer: "2", number: 6)] == .some(nil))
      #expect(read.values == ["2-1": 9])
      #expect(
        read.complaints == [
          .init(moment: 77, code: 5, process: "2.1", text: "the database is locked")
        ])
    }
  }

  @Test func attemptsAreReadWithTheirEndsInTheOrderOfBeginning() throws {
    try Self.withFile { path in
      let log = try LineLog(appendingTo: path)
      log.append(["began", "10", "1.1", "k1", "a", "1", "1"])
      log.append(["began", "11", "2.1", "k2", "b", "1", "2"])
      log.append(["ended", "12", "1.1", "k1"])
      log.append(["began", "13", "1.1", "k1", "a", "1", "1"])
      let attempts = Attempt.read(path)
      #expect(attempts.map(\.key) == ["k1", "k2", "k1"])
      #expect(attempts.map(\.began) == [10, 11, 13])
      #expect(attempts.map(\.ended) == [12, nil, nil])
    }
  }

  @Test func theStateThatWasFoundIsRead() throws {
    try Self.withFile { path in
      let log = try LineLog(appendingTo: path)
      log.append(["row", "k1", "dead", "rejected", "a", "1", "88"])
      log.append(["value", "1-1", "3"])
      log.append(["damage", "cache.sqlite: row 3"])
      #expect(!FoundState.read(path).isWhole)
      log.append(["done"])
      let state = FoundState.read(path)
      let mutation = SentMutation(lane: "a", writer: "1", number: 88)
      #expect(
        state.rows
          == [FoundState.Row(mutation: mutation, key: "k1", standing: "rejected", isDead: true)])
      #expect(state.values == ["1-1": 3] && state.damage == ["cache.sqlite: row 3"])
      #expect(state.isWhole)
    }
  }
}
