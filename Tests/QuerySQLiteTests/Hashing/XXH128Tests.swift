import Foundation
import Testing

@testable import QuerySQLite

@Suite struct XXH128Tests {
  @Test func thirteenBytesHashToTheVector() {
    let hash = XXH128(hashing: #"["players",3]"#)
    #expect(hash.description == "29850069ecc01a2516301cee0c83d86a")
    #expect(XXH128(hashing: Data(#"["players",3]"#.utf8)) == hash)
  }

  @Test func nothingHashesToTheVectorOfNothing() {
    #expect(XXH128(hashing: "").description == "99aa06d3014798d86001c324468d497f")
    #expect(XXH128(hashing: Data()) == XXH128(hashing: ""))
  }

  @Test func bytesAreTheDigitsAndComeBack() {
    let hash = XXH128(hashing: "a")
    let bytes = hash.withBytes { Data($0) }
    #expect(bytes.count == 16)
    #expect(bytes.map { String(format: "%02x", $0) }.joined() == hash.description)
    #expect(bytes.withUnsafeBytes { XXH128(bytes: $0) } == hash)
    #expect(bytes.dropLast().withUnsafeBytes { XXH128(bytes: $0) } == nil)
  }
}
