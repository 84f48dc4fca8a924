import Foundation
import Testing

@testable import QuerySQLite

@Suite struct XXH128PagesTests {
  @Test func whereAnIdEndsIsPartOfAPagesChecksum() {
    let checksum = XXH128(pageID: Data("ab".utf8), value: Data("c".utf8))
    #expect(checksum == XXH128(pageID: Data("ab".utf8), value: Data("c".utf8)))
    #expect(checksum != XXH128(pageID: Data("a".utf8), value: Data("bc".utf8)))
  }

  @Test func anEntrysChecksumTellsItsPagesTheirOrderAndItsIds() {
    let pages = (0..<3).map { XXH128(hashing: "\($0)") }
    let others = [
      XXH128(pages: pages, next: nil, previous: nil),
      XXH128(pages: pages, next: Data(), previous: nil),
      XXH128(pages: pages, next: nil, previous: Data()),
      XXH128(pages: pages.reversed(), next: nil, previous: nil),
      XXH128(pages: pages.dropLast(), next: nil, previous: nil),
      XXH128(pages: [], next: nil, previous: nil),
    ]
    #expect(Set(others).count == others.count)
    #expect(others[0] == XXH128(pages: pages, next: nil, previous: nil))
  }
}
