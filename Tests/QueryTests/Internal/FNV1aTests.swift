import Testing

@testable import Query

@Suite struct FNV1aTests {
  @Test(
    arguments: [
      ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8),
    ] as [(String, UInt64)])
  func hashesOfTheSpecificationHold(_ text: String, _ hash: UInt64) {
    var whole = FNV1a()
    Array(text.utf8).withUnsafeBytes { whole.feed($0) }
    #expect(whole.value == hash)
    var pieces = FNV1a()
    for byte in text.utf8 { withUnsafeBytes(of: byte) { pieces.feed($0) } }
    #expect(pieces.value == hash)
  }
}
