import Foundation
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// Erasing an account overwrites bytes that are found by the numbers of pages. A damaged number leads to rows of
/// another account.
@Suite struct ErasingDamagedFileTests {
  /// Lets the first row whose rest is in another page say that it is in this page.
  private static func damage(_ path: String) throws {
    var bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let image = DatabaseImage(file: bytes, log: [])
    let found = image.numbers.lazy.compactMap { number -> (page: Int, place: Int)? in
      guard number > 1, let page = image.current(number), let tree = TreePage(page),
        tree.kind == .tableLeaf, tree.cells.count > 1,
        let cell = tree.cells.first(where: { $0.overflow != nil })
      else { return nil }
      return (number, cell.local.upperBound)
    }
    let (page, place) = try #require(found.first)
    for byte in 0..<4 { bytes[place + byte] = UInt8(truncatingIfNeeded: page >> (24 - 8 * byte)) }
    try Data(bytes).write(to: URL(filePath: path))
  }

  @Test func whatOthersHaveEnteredStays() async throws {
    let folder = try TemporaryFolder()
    let other = try OutboxScratch(in: folder, partition: "other")
    var texts = Set<String>()
    for number in 0..<40 {
      let text = "\(number) " + String(repeating: "x", count: number % 4 == 0 ? 5_000 : 300)
      texts.insert(text)
      try await other.add(text)
    }
    try await other.storage.close()
    try Self.damage(other.path)
    let erased = try OutboxScratch(in: folder, partition: "erased")
    try await erased.add("secret")
    // It may say that the file is damaged, and is repeated then.
    var isErased = false
    for _ in 0..<3 where !isErased {
      do {
        try await erased.storage.erase()
        isErased = true
      } catch is StorageError {}
    }
    #expect(isErased)
    try await erased.storage.close()
    let after = try OutboxScratch(in: folder, partition: "other")
    let left = try after.outbox.entries().map { String(decoding: $0.arguments, as: UTF8.self) }
    // The damaged row alone cannot be read.
    #expect(texts.subtracting(left).count <= 1)
    try await after.storage.close()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("mutations") {
      let file = try Data(contentsOf: URL(filePath: "\(folder.path)/\(name)"))
      #expect(file.range(of: Data("secret".utf8)) == nil, "\(name)")
    }
  }
}
