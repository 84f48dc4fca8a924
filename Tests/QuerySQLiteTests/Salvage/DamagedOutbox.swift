import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// The files of an outbox with rows of all sizes, for tests that damage copies of them.
struct DamagedOutbox: Sendable {
  /// What is there: by the text of its arguments, each text once.
  let texts: [UUID: String]
  let numbers: [UUID: Int]
  let file: [UInt8]
  let log: [UInt8]

  private static func text(_ number: Int) -> String {
    "mutation \(number) "
      + String(repeating: "\(number)-", count: [20, 80, 700, 3_000][number % 4])
  }

  /// Makes the files: of a closed outbox, or of an outbox whose process was killed.
  init(rows: Int = 60, isKilled: Bool) async throws {
    let folder = try TemporaryFolder()
    var texts = [UUID: String]()
    var numbers = [UUID: Int]()
    var scratch = try OutboxScratch(in: folder)
    for number in 0..<rows {
      if isKilled, number == rows / 2 {
        try await scratch.storage.close()
        scratch = try OutboxScratch(in: folder)
      }
      let text = Self.text(number)
      let id = try await scratch.add(text, lane: number % 3 == 0 ? "lane" : nil)
      texts[id] = text
      numbers[id] = try scratch.outbox.entry(id)?.number
      if number % 5 == 4 {
        let sent = try await scratch.outbox.enqueue(
          OutboxScratch.mutation("sent " + text), claiming: true)
        _ = try await scratch.outbox.settle(try #require(sent.lease), OutboxScratch.success)
      }
    }
    if !isKilled { try await scratch.storage.close() }
    self.texts = texts
    self.numbers = numbers
    self.file = Array(try Data(contentsOf: URL(filePath: scratch.path)))
    self.log = Array((try? Data(contentsOf: URL(filePath: scratch.path + "-wal"))) ?? Data())
    if isKilled { try await scratch.storage.close() }
  }

  /// What an application finds.
  struct Outcome {
    var texts = [UUID: String]()
    var numbers = [UUID: Int]()
    /// Those that are dead, or will be when somebody claims them.
    var dead = Set<UUID>()
    var reports = [String]()
    var errors = [String]()

    var isSaid: Bool { !self.reports.isEmpty }
  }

  /// Opens files as an application does, enqueues one more, and closes them.
  static func open(_ file: [UInt8], _ log: [UInt8], in folder: TemporaryFolder? = nil) async throws
    -> Outcome
  {
    let folder = try folder ?? TemporaryFolder()
    let path = "\(folder.path)/mutations.sqlite"
    try Data(file).write(to: URL(filePath: path))
    if !log.isEmpty { try Data(log).write(to: URL(filePath: path + "-wal")) }
    return try await Self.open(folder)
  }

  static func open(_ folder: TemporaryFolder) async throws -> Outcome {
    let events = Locked([StorageEvent]())
    let outbox = try SQLiteOutbox(
      folder: folder.path, partition: "", SQLiteQueryStorage.Configuration(),
      OutboxPartition.Hooks(
        tell: { event in events.withLock { $0.append(event) } },
        invalidate: { _, _, done in done(true) },
        missing: { _, done in done([]) }, show: { _ in }
      ))
    var outcome = Outcome()
    // What reads may be what finds the damage.
    for _ in 0..<5 {
      do {
        let new = try await outbox.enqueue(OutboxScratch.mutation("new"), claiming: false).entry.id
        for entry in try outbox.entries() where entry.id != new {
          if String(decoding: entry.arguments, as: UTF8.self) == "new" { continue }
          outcome.texts[entry.id] = String(decoding: entry.arguments, as: UTF8.self)
          outcome.numbers[entry.id] = entry.number
          if entry.state == .dead { outcome.dead.insert(entry.id) }
        }
        break
      } catch {
        outcome.errors.append("\(error)")
      }
    }
    await withCheckedContinuation { done in outbox.release { _ in done.resume() } }
    outcome.dead.formUnion(try Self.unsound(in: folder))
    outcome.reports = events.withLock { $0 }.compactMap {
      if case .setAside(_, let reason) = $0 { reason.message } else { nil }
    }
    return outcome
  }

  /// The rows that nobody sends, by what a claim goes by.
  private static func unsound(in folder: TemporaryFolder) throws -> [UUID] {
    let connection = try SQLiteConnection(path: "\(folder.path)/mutations.sqlite")
    defer { try? connection.close() }
    let numbers: SQL = "SELECT number FROM outbox NOT INDEXED"
    return try connection.rows(numbers) { try $0.integer(at: 0) }.compactMap { number in
      let row = try connection.first(OutboxRow.read, number, read: OutboxRow.init)
      return row?.isSound == false ? row?.id : nil
    }
  }

  /// Opens a damaged copy, and checks that each row is there that has its own bytes yet.
  ///
  /// - Parameter changed: The bytes of the file or the log that were changed.
  func check(
    _ file: [UInt8], _ log: [UInt8], mayLose: Int, _ comment: Comment,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let outcome = try await Self.open(file, log)
    #expect(outcome.errors.count < 5, "\(comment): \(outcome.errors)", sourceLocation: location)
    // A row whose bytes have changed is not sent: the claim finds that out.
    let whole = outcome.texts.filter {
      self.texts[$0.key] == $0.value && !outcome.dead.contains($0.key)
    }
    let missing = self.texts.keys.filter { whole[$0] == nil }
    let numbers = missing.compactMap { self.texts[$0]?.prefix(14) }
    #expect(
      missing.count <= mayLose, "\(comment): \(numbers), \(outcome.reports), \(outcome.errors)",
      sourceLocation: location)
    // What is sent was enqueued, and under that number and identifier.
    let foreign = outcome.texts.keys.filter {
      !outcome.dead.contains($0) && self.numbers[$0] != outcome.numbers[$0]
    }
    #expect(foreign.isEmpty, "\(comment): \(foreign)", sourceLocation: location)
    // One that has become another one is a dead letter, by which people are told.
    let found = Set(outcome.dead.compactMap { outcome.texts[$0] })
    let gone = missing.filter { id in
      outcome.texts[id] == nil && self.texts[id].map { !found.contains($0) } ?? true
    }
    #expect(
      gone.isEmpty || outcome.isSaid, "\(comment) in silence: \(outcome.errors)",
      sourceLocation: location)
    if !gone.isEmpty, outcome.isSaid {
      #expect(
        outcome.reports.contains { $0.contains("not readable") }, "\(comment): \(outcome.reports)",
        sourceLocation: location)
    }
  }

  /// How many rows have bytes of their own in a part of the file or the log.
  func rows(in bytes: [UInt8], _ range: Range<Int>) -> Int {
    let part = Data(bytes[range])
    return self.texts.values.filter { text in
      // The beginning, or some of what is repeated.
      let words = text.prefix(14)
      let number = words.split(separator: " ").dropFirst().first ?? ""
      return part.range(of: Data("mutation \(number) ".utf8)) != nil
        || part.range(of: Data("-\(number)-\(number)-\(number)-".utf8)) != nil
    }.count
  }
}
