import Foundation
import Query
import QueryReplay
import QuerySQLite
import TestSupport
import Testing

/// Replay §1 and §8, with the storage that ships and processes that are killed.
@Suite struct EnqueuedElsewhereTests {
  private struct Note: Decodable {
    var lane: String
    var number: Int
  }

  private static func notes(in folder: ScratchFolder) async throws -> [Note] {
    let storage = try SQLiteQueryStorage(directory: folder.url)
    let notes = try storage.outbox.entries().map {
      try JSONDecoder().decode(Note.self, from: $0.arguments)
    }
    try await storage.close()
    return notes
  }

  @Test func aFileIsSentByAnotherProcess() async throws {
    let (folder, source) = (try ScratchFolder(), try ScratchFolder())
    let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
    let file = try source.file("photo", data)
    let server = try LoopbackServer { _, _ in .status(200) }
    let url = server.url.absoluteString
    let writer = try ReplayProcess(["photo", folder.path, url, file.path])
    #expect(await writer.rest().last == "drained")
    try FileManager.default.removeItem(at: file)
    let sender = try ReplayProcess(["replay", folder.path, url])
    #expect(await sender.rest().last == "drained")
    let received = try #require(await server.requests.wait(forCount: 1).first)
    #expect(Data(received.body) == data)
    let bodies = folder.url.appending(path: "bodies").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: bodies) == [])
  }

  @Test func anIdentifierIsEnqueuedOnceByAnyNumberOfProcesses() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer { _, _ in .status(200) }
    let id = UUID()
    let arguments = ["once", folder.path, server.url.absoluteString, id.uuidString, "20"]
    let workers = try (0..<3).map { _ in try ReplayProcess(arguments) }
    for worker in workers {
      let lines = await worker.rest()
      #expect(lines.filter { $0 == "key \(id.uuidString)" }.count == 20)
      #expect(lines.last == "drained")
    }
    let notes = try await Self.notes(in: folder)
    #expect(notes.map(\.number) == [0])
    let sender = try ReplayProcess(["replay", folder.path, server.url.absoluteString])
    #expect(await sender.rest().last == "drained")
    let late = try ReplayProcess(arguments)
    #expect(await late.rest().filter { $0 == "key \(id.uuidString)" }.count == 20)
    #expect(try await Self.notes(in: folder).isEmpty)
    #expect(server.requests.elements.map { $0.headers["idempotency-key"] } == [id.uuidString])
  }

  @Test func aKillLeavesAllOrNoneOfWhatIsEnqueuedTogether() async throws {
    let size = 7
    var generator = SeededGenerator(seed: 0xBA7C4)
    for round in 1...(Sanitizer.isOn ? 3 : 10) {
      let folder = try ScratchFolder()
      let lines = Int.random(in: 1...20, using: &generator)
      let worker = try ReplayProcess(
        ["together", folder.path, "http://127.0.0.1:1/", "a", "1000", "\(size)"])
      var acknowledged = Set<String>()
      var seen = 0
      for await line in worker.child.lines {
        if line.hasPrefix("together ") { acknowledged.insert(String(line.dropFirst(9))) }
        seen += 1
        if seen == lines { worker.child.kill() }
      }
      _ = await worker.child.end()
      let lanes = Dictionary(grouping: try await Self.notes(in: folder), by: \.lane)
      #expect(acknowledged.isSubset(of: lanes.keys), "round \(round)")
      for notes in lanes.values { #expect(notes.map(\.number) == Array(0..<size)) }
    }
  }
}
