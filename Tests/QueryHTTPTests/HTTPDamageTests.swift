import Foundation
import QuerySQLite
import StorageTestSupport
import TestSupport
import Testing

@testable import Query
@testable import QueryHTTP

/// Files with validators in them that are damaged at rest: no value is shown that is wrong, no validator
/// stands beside another's value or beside none, and no 304 confirms a value that is lost.
@Suite(.serialized) struct HTTPDamageTests {
  /// With one alone if `SEED` is set.
  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
    return Array(1...(environment["FULL"] == nil ? 20 : 1_000))
  }

  private static let count = 16
  private static let pages = 3

  private let server: ValidatingServer

  init() throws { self.server = try ValidatingServer() }

  /// What a note is: short enough for its row, or so long that it is in a page of its own.
  private static func note(_ number: Int, version: Int) -> [Int] {
    [number, version] + Array(repeating: number, count: number % 4 == 3 ? 2_000 : number * 20)
  }

  private func set(_ path: String, _ body: [Int], version: Int) {
    self.server[path] = ValidatingServer.Resource("\(body)", headers: ["ETag": "\"\(version)\""])
  }

  private func serve(note number: Int, version: Int) {
    self.set("/notes/\(number)", Self.note(number, version: version), version: version)
  }

  private func serve(page: Int, version: Int) {
    self.set("/list?page=\(page)", [page, version], version: version)
  }

  private func query(_ number: Int) -> HTTPQuery<[Int]> {
    HTTPQuery(self.server.url("/notes/\(number)"))
  }

  private var list: HTTPPages<Int, [Int]> {
    let server = self.server
    return HTTPPages(
      server.url("/list"), first: 0, url: { server.url("/list?page=\($0)") },
      next: { id, _ in id + 1 < Self.pages ? id + 1 : nil })
  }

  /// All equally named validators, so that one beside another's value would count as that value's.
  private func validator(_ number: Int, version: Int) -> HTTPValidator? {
    HTTPValidator(
      HTTPAnswer(status: 200, headers: ["etag": "\"\(version)\""]),
      from: self.server.url("/notes/\(number)"), lifetime: nil)
  }

  private func client(_ storage: SQLiteQueryStorage) -> QueryClient {
    QueryClient(storage: storage, storeCreator: .default(retryLimit: 0))
  }

  // MARK: - The files

  /// The files of a machine that has seen everything: closed, and as a power cut leaves them.
  private func files() async throws -> [[String: Data]] {
    for number in 0..<Self.count { self.serve(note: number, version: 1) }
    for page in 0..<Self.pages { self.serve(page: page, version: 1) }
    let scratch = try HTTPScratch()
    let client = self.client(scratch.storage)
    for number in 0..<Self.count {
      try await client.store(for: self.query(number).persisted()).fetch()
      if number == Self.count / 2 {
        // What came before is in the file, and the rest in the log, with what is confirmed.
        try await scratch.relaunch()
      }
    }
    let late = self.client(scratch.storage)
    for number in Self.count / 2..<Self.count {
      try await late.store(for: self.query(number).persisted()).fetch()
    }
    for number in [0, 1, 2] { try await late.store(for: self.query(number).persisted()).fetch() }
    let pages = late.store(for: self.list.persisted())
    for _ in 0..<Self.pages { try await pages.fetchNextPage() }
    try await scratch.storage.flush()
    let read = { (names: [String]) in
      try names.reduce(into: [String: Data]()) {
        $0[$1] = try Data(contentsOf: URL(filePath: "\(scratch.folder.path)/\($1)"))
      }
    }
    let cut = try read(["cache.sqlite", "cache.sqlite-wal"])
    #expect(cut["cache.sqlite-wal"].map { $0.count > 4_096 } == true)
    withExtendedLifetime((client, late)) {}
    try await scratch.storage.close()
    return [try read(["cache.sqlite"]), cut]
  }

  private static func damage(_ files: [String: Data], seed: UInt64) -> [String: Data] {
    var random = SeededGenerator(seed: seed)
    var files = files
    let name = files.keys.sorted().randomElement(using: &random) ?? ""
    var bytes = files[name] ?? Data()
    // A log has frames, of a page and 24 bytes.
    let (start, page) = name.hasSuffix("wal") ? (32 + 24, 4_096 + 24) : (0, 4_096)
    let place = { (random: inout SeededGenerator) in
      start + page * Int.random(in: 0..<max(1, (bytes.count - start) / page), using: &random)
    }
    switch seed % 8 {
    case 0: bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))
    case 1:
      let index = Int.random(in: 0..<bytes.count, using: &random)
      bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2:
      for _ in 0..<Int.random(in: 1...100, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        bytes[index] = UInt8.random(in: 0...255, using: &random)
      }
    case 3:
      let at = place(&random)
      bytes.replaceSubrange(
        at..<min(at + 4_096, bytes.count), with: Data(count: min(4_096, bytes.count - at)))
    case 4, 5:
      // Two pages change places, or one is there twice.
      let (one, other) = (place(&random), place(&random))
      guard max(one, other) + 4_096 <= bytes.count else { break }
      let content = bytes[one..<one + 4_096]
      if seed % 8 == 4 {
        bytes.replaceSubrange(one..<one + 4_096, with: bytes[other..<other + 4_096])
      }
      bytes.replaceSubrange(other..<other + 4_096, with: content)
    case 6:
      let at = min(place(&random) + 4_095, bytes.count - 1)
      bytes[at] = 0
    default:
      // In the schema.
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<4_096, using: &random)] ^= UInt8.random(
          in: 1...255, using: &random)
      }
    }
    files[name] = bytes
    return files
  }

  // MARK: - What holds

  @Test func noValidatorStandsWithoutItsValueWhateverIsDamaged() async throws {
    let files = try await self.files()
    // What was kept is right for half of them.
    for number in 0..<Self.count where number % 2 == 1 { self.serve(note: number, version: 2) }
    self.serve(page: 1, version: 2)
    for seed in Self.seeds {
      let folder = try StorageScratch()
      for (name, bytes) in Self.damage(files[Int(seed / 8) % 2], seed: seed) {
        try bytes.write(to: URL(filePath: "\(folder.path)/\(name)"))
      }
      // Its mark may be what is damaged: it could be another program's.
      guard let storage = try? folder.storage() else { continue }
      try await self.expectRight(storage, "seed \(seed)", shows: true)
      try await storage.close()
      let later = try folder.storage()
      try await self.expectRight(later, "seed \(seed), the next launch", shows: false)
      try await later.close()
    }
  }

  /// - Parameter isFirst: Whether what is stored is what the files had.
  private func expectRight(
    _ storage: SQLiteQueryStorage, _ comment: Comment, shows isFirst: Bool
  ) async throws {
    for number in 0..<Self.count {
      let (value, metadata) = try await self.stored(number, storage)
      if value == nil { #expect(metadata == nil, comment) }
      if let validator = HTTPValidator(metadata) {
        let versions = [1, 2].filter { self.validator(number, version: $0) == validator }
        #expect(versions.map { Self.note(number, version: $0) } == [value], comment)
      }
      let known = [1, 2].map { Self.note(number, version: $0) }
      if isFirst, let value { #expect(known[0] == value, comment) }
      if let value { #expect(known.contains(value), comment) }
    }
    let client = self.client(storage)
    for number in 0..<Self.count {
      let expected = Self.note(number, version: number % 2 + 1)
      let store = client.store(for: self.query(number).persisted())
      #expect(try await store.fetch() == expected, comment)
    }
    let pages = client.store(for: self.list.persisted())
    try await pages.fetch()
    for page in pages.currentValue {
      #expect(page.value == [page.id, page.id == 1 ? 2 : 1], comment)
    }
    _ = try? await storage.flush()
  }

  /// What a launch finds of a note.
  private func stored(
    _ number: Int, _ storage: SQLiteQueryStorage
  ) async throws -> (value: [Int]?, metadata: Data?) {
    let found = Locked<(value: [Int]?, metadata: Data?)>((nil, nil))
    let query = BlockQuery<[Int]>(self.query(number).path) { context, _ in
      let stored = context.storedValue
      found.withLock { $0 = (stored?.value(as: [Int].self), stored?.metadata) }
      throw TestError("only looks")
    }
    let client = self.client(storage)
    let store = client.store(for: query.persisted())
    await store.hydrated()
    let shown = store.currentValue
    _ = try? await store.fetch()
    let result = found.withLock { $0 }
    // A value without its date is shown, and not asked by.
    #expect(result.value == nil || result.value == shown)
    return result
  }

  /// Rows whose parts are those of others, as no damage by chance makes them.
  @Test(arguments: [
    "SET metadata = (SELECT metadata FROM entries AS o WHERE o.identity LIKE '%notes/2\"%')",
    "SET metadata = NULL",
    "SET metadata = x'00'",
    "SET value = NULL",
    "SET value = NULL, checksum = NULL",
    "SET value = (SELECT value FROM entries AS o WHERE o.identity LIKE '%notes/2\"%')",
    "SET (value, checksum) = (SELECT value, checksum FROM entries AS o WHERE o.identity LIKE '%notes/2\"%')",
    "SET value_updated_at = NULL",
  ])
  func partsOfOtherRowsAreNotTaken(_ change: String) async throws {
    for number in 1...2 { self.serve(note: number, version: 1) }
    let scratch = try HTTPScratch()
    let client = self.client(scratch.storage)
    for number in 1...2 { try await client.store(for: self.query(number).persisted()).fetch() }
    try await scratch.storage.close()
    let connection = try scratch.folder.connection()
    _ = try connection.rowsOfText("UPDATE entries \(change) WHERE identity LIKE '%notes/1\"%'")
    try connection.close()
    try await scratch.relaunch()
    let (value, metadata) = try await self.stored(1, scratch.storage)
    #expect(value == nil || value == Self.note(1, version: 1))
    let validator = HTTPValidator(metadata)
    #expect(validator == nil || validator == self.validator(1, version: 1) && value != nil)
    let store = self.client(scratch.storage).store(for: self.query(1).persisted())
    #expect(try await store.fetch() == Self.note(1, version: 1))
    let rows = try await { () async throws -> [String] in
      try await scratch.storage.flush()
      return try scratch.folder.rows(
        "SELECT 1 FROM entries WHERE metadata IS NOT NULL AND value_updated_at IS NULL")
    }()
    #expect(rows.isEmpty)
  }

  /// A whole row's content in another row: its validator is of another URL, and is not asked by.
  @Test func theContentOfAnotherRowIsAskedForAnew() async throws {
    for number in 1...2 { self.serve(note: number, version: 1) }
    let scratch = try HTTPScratch()
    let client = self.client(scratch.storage)
    for number in 1...2 { try await client.store(for: self.query(number).persisted()).fetch() }
    try await scratch.storage.close()
    let connection = try scratch.folder.connection()
    _ = try connection.rowsOfText(
      """
      UPDATE entries SET (value, checksum, metadata) = (
        SELECT value, checksum, metadata FROM entries AS o WHERE o.identity LIKE '%notes/2"%')
      WHERE identity LIKE '%notes/1"%'
      """)
    try connection.close()
    try await scratch.relaunch()
    self.server.answers.removeAll()
    let store = self.client(scratch.storage).store(for: self.query(1).persisted())
    #expect(try await store.fetch() == Self.note(1, version: 1))
    #expect(self.server.answers.elements == ["200 /notes/1"])
  }
}
