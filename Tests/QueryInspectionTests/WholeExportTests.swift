import Foundation
import Query
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// The tools: an export has all that a store has, and no more than an import takes back.
@Suite struct WholeExportTests {
  private static func inspection(_ folder: String) throws -> StoreInspection {
    try StoreInspection(directory: URL(filePath: folder))
  }

  private static func importExport(
    _ data: Data, into folder: TemporaryFolder, withOutbox: Bool = false
  ) throws -> StoreMaintenance.Imported {
    let path = "\(folder.path)/export.jsonl"
    try data.write(to: URL(filePath: path))
    return try StoreMaintenance(directory: URL(filePath: folder.path))
      .importExport(at: path, withOutbox: withOutbox)
  }

  // MARK: - Long rows

  @Test func aLongFileIsWrittenInSeveralLines() async throws {
    let (scratch, source) = (try OutboxScratch(), try ScratchFolder())
    let part = StoreExport.bytesPerBodyLine
    var long = Data(count: 2 * part + 1)
    for place in [0, part - 1, part, 2 * part] { long[place] = UInt8(place % 251 + 1) }
    let contents = [long, Data(count: part), Data("short".utf8)]
    var mutation = OutboxScratch.mutation()
    mutation.bodies = try contents.enumerated().map { try source.file("\($0)", $1) }
    _ = try await scratch.outbox.enqueue(mutation, claiming: false)
    try await scratch.storage.close()
    var (data, longest, bodies) = (Data(), 0, [ExportLine]())
    let damaged = try Self.inspection(scratch.folder.path).export("", withOutbox: true) { line in
      data += line
      longest = max(longest, line.count)
      let parsed = try #require(ExportLine(line))
      if parsed.kind == .body { bodies.append(parsed) }
    }
    #expect(damaged == [])
    #expect(longest < 2 * part)
    // One that fits is a line as ever.
    #expect(bodies.map { $0.integer("part") } == [nil, 1, 2, nil, nil])
    let folder = try TemporaryFolder()
    #expect(try Self.importExport(data, into: folder, withOutbox: true).mutations == 1)
    var again = Data()
    _ = try Self.inspection(folder.path).export("", withOutbox: true) { again += $0 }
    #expect(again == data)
    let copy = try OutboxScratch(in: folder)
    let copies = try await copy.outbox.bodies(of: mutation.id)
    #expect(try copies.map { try Data(contentsOf: $0) } == contents)
    try await copy.storage.close()
  }

  @Test func aValueThatNoImportWouldReadIsLeftOut() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { storage in
      try await storage.set(["short": "text", "long": String(repeating: "x", count: 5_000)])
    }
    var (data, longest) = (Data(), 0)
    let export = try StoreExport(try Self.inspection(scratch.path), "") { line in
      data += line
      longest = max(longest, line.count)
    }
    export.maximumLine = 4_000
    try export.run(withOutbox: false)
    let hash = InspectedHash(XXH128(hashing: "[\"texts\",\"long\"]")).short
    #expect(export.damaged == ["entry \(hash): it is too long for an export"])
    #expect(longest <= 4_000)
    let folder = try TemporaryFolder()
    #expect(try Self.importExport(data, into: folder).entries == 1)
  }

  /// Without one of its mutations an outbox would not be whole.
  @Test func anOutboxThatNoImportWouldReadIsRefused() async throws {
    let scratch = try OutboxScratch()
    try await scratch.add(String(repeating: "x", count: 5_000))
    try await scratch.storage.close()
    let export = try StoreExport(try Self.inspection(scratch.folder.path), "") { _ in }
    export.maximumLine = 4_000
    let error = try #require(throws: InspectionError.self) { try export.run(withOutbox: true) }
    guard case .unavailable(let reason) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(reason.code == .tooBig)
  }

  // MARK: - What belongs to a value

  @Test func howLongAValueIsFreshAndItsMetadataComeAlong() async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { storage in
      let client = QueryClient(storage: storage)
      let texts = [("short", "text"), ("long", String(repeating: "long ", count: 2_000))]
      for (name, text) in texts {
        let query = StoredQuery(
          [name],
          yielding: { continuation in
            continuation.returning(
              text, metadata: Data("tag of \(name)".utf8), freshFor: .seconds(60))
          })
        _ = try await client.store(for: query.persisted()).fetch()
      }
      let pages = client.store(for: NotedPages().persisted())
      for _ in 0..<3 { _ = try await pages.fetchNextPage() }
      try await storage.flush()
    }
    let store = try Self.inspection(scratch.path)
    var data = Data()
    #expect(try store.export("", withOutbox: false) { data += $0 } == [])
    let folder = try TemporaryFolder()
    #expect(try Self.importExport(data, into: folder).entries == 3)
    let copy = try Self.inspection(folder.path)
    for name in ["short", "long"] {
      let value = try copy.value(named: "[\"\(name)\"]")
      #expect(value.isSound)
      #expect(value.freshFor == 60_000_000)
      #expect(value.metadata == Data("tag of \(name)".utf8))
    }
    let pages = try copy.value(named: "[\"noted pages\"]")
    #expect(pages.isSound)
    #expect(pages.pages.map(\.metadata) == (0..<3).map { Data("tag \($0)".utf8) })
    #expect(try pages.freshFor == store.value(named: "[\"noted pages\"]").freshFor)
    var findings = [InspectionFinding]()
    try copy.check { findings.append($0) }
    #expect(findings == [])
    var again = Data()
    _ = try copy.export("", withOutbox: false) { again += $0 }
    #expect(again == data)
  }

  /// One row that no release writes would make all of the export one that is refused.
  @Test(arguments: [
    "value_update_count = -1", "error_update_count = -1", "fresh_for = -1",
    "invalidated_at = -9223372036854775808",
  ])
  func anImpossibleCountIsDamage(_ sql: String) async throws {
    let scratch = try StorageScratch()
    try await scratch.withStorage { try await $0.set(["a": "text", "b": "text"]) }
    let connection = try scratch.connection()
    _ = try connection.rowsOfText("UPDATE entries SET \(sql) WHERE id = 1")
    try connection.close()
    let store = try Self.inspection(scratch.path)
    var findings = [InspectionFinding]()
    try store.check { findings.append($0) }
    #expect(findings.map(\.kind) == [.unreadableRow])
    var data = Data()
    #expect(try store.export("", withOutbox: false) { data += $0 }.count == 1)
    #expect(try Self.importExport(data, into: TemporaryFolder()).entries == 1)
  }

  // MARK: - Others that write

  @Test func anEntryThatIsRemovedMeanwhileIsNoDamage() async throws {
    let scratch = try StorageScratch()
    let count = StoreExport.rowsPerRead + 50
    try await scratch.withStorage { storage in
      try await storage.set(
        Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", "text") }))
    }
    let store = try Self.inspection(scratch.path)
    var order = [InspectedEntry]()
    try store.entries(EntryQuery(sort: .used)) { order.append($0) }
    let last = try #require(order.last)
    let maintenance = try StoreMaintenance(directory: URL(filePath: scratch.path))
    var (data, entries) = (Data(), 0)
    let damaged = try store.export("", withOutbox: false) { line in
      data += line
      guard try #require(ExportLine(line)).kind == .entry else { return }
      entries += 1
      // The first transaction has ended, and read which entries there are.
      if entries == 1 { try maintenance.remove(last) }
    }
    #expect(damaged == [])
    #expect(entries == count - 1)
    #expect(try Self.importExport(data, into: TemporaryFolder()).entries == count - 1)
  }
}

/// Pages of text, each with a tag.
private struct NotedPages: InfiniteQueryRequest {
  let initialPageId = 0
  var path: QueryPath { ["noted pages"] }

  func pageId(
    after page: InfiniteQueryPage<Int, String>, using paging: InfiniteQueryPaging<Int, String>,
    in context: QueryContext
  ) -> Int? { page.id + 1 }

  func fetchPage(
    using paging: InfiniteQueryPaging<Int, String>, in context: QueryContext,
    with continuation: QueryContinuation<String>
  ) async throws -> String {
    continuation.returning(
      "page \(paging.pageId)", metadata: Data("tag \(paging.pageId)".utf8),
      freshFor: .seconds(60))
  }
}
