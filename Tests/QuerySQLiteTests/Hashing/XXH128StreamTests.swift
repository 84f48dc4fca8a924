import Foundation
import Testing

@testable import QuerySQLite

@Suite struct XXH128StreamTests {
  @Test(arguments: [0, 1, 240, 241, 100_000])
  func piecesHashAsTheWhole(_ count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let stream = XXH128Stream()
    bytes.withUnsafeBytes { bytes in
      stream.feed(UnsafeRawBufferPointer(rebasing: bytes[..<(count / 3)]))
      stream.feed(UnsafeRawBufferPointer(rebasing: bytes[(count / 3)...]))
    }
    #expect(stream.digits == "\(XXH128(hashing: Data(bytes)))")
  }
}
