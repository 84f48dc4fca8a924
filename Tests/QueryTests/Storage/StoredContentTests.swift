import FoundationEssentials
import Testing

@testable import Query

@Suite struct StoredContentTests {
  private static let hash = Data(0..<16)

  @Test(arguments: [
    StoredContentMark(hash: hash, byteCount: 7),
    StoredContentMark(hash: Data(repeating: 0, count: 16), byteCount: 0),
    StoredContentMark(hash: hash, byteCount: 7, next: Data([1])),
    StoredContentMark(hash: hash, byteCount: 7, previous: Data()),
    StoredContentMark(hash: Data(), byteCount: 7),
    StoredContentMark(hash: Data(0..<15), byteCount: .max),
    StoredContentMark(hash: (Data([9]) + hash).dropFirst(), byteCount: 1),
  ])
  func keepsAnyMark(_ mark: StoredContentMark) {
    let content = StoredContent(mark)
    #expect(content.mark == mark)
    content.clear()
    #expect(content.mark == nil)
    content.mark = mark
    #expect(content.mark == mark)
    content.mark = nil
    #expect(content.mark == nil)
  }
}
