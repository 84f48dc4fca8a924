import Foundation
import Testing

@testable import QuerySQLite

@Suite struct HashedBytesTests {
  @Test func partsHashAsOne() {
    var bytes = HashedBytes(capacity: 4)
    #expect(bytes.hash == XXH128(hashing: ""))
    bytes.append("a\u{e4}")
    bytes.append(Data())
    bytes.append(Data("c".utf8)[...])
    bytes.append("")
    #expect(bytes.hash == XXH128(hashing: "a\u{e4}c"))
  }

  @Test(arguments: [0, 7, -1, 10, 1_234_567_890, .max, .min])
  func aNumberIsItsDigits(_ number: Int) {
    var bytes = HashedBytes(capacity: 0)
    bytes.append("n")
    bytes.append(number)
    #expect(bytes.hash == XXH128(hashing: "n\(number)"))
  }
}
