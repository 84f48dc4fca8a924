import Foundation
import Testing

@testable import Query

@Suite("PropertyListQueryCoder")
struct PropertyListQueryCoderTests {
  private let coder: any QueryCoder = .propertyList

  @Test("The bytes are a binary property list, of a container the same as without the coder")
  func containers() throws {
    let data = try self.coder.encode(["a": 1])
    #expect(data.starts(with: Data("bplist00".utf8)))
    #expect(try PropertyListDecoder().decode([String: Int].self, from: data) == ["a": 1])
  }

  @Test("A scalar or nil at the top is the only entry of a dictionary")
  func scalars() throws {
    let list = try PropertyListSerialization.propertyList(
      from: self.coder.encode(3),
      format: nil
    )
    #expect(list as? [String: Int] == ["query.value": 3])
    let date = try self.coder.encode(Date.distantPast)
    #expect(
      try PropertyListDecoder().decode([String: Date].self, from: date)
        == ["query.value": .distantPast]
    )
    let none = try PropertyListSerialization.propertyList(
      from: self.coder.encode(Int?.none),
      format: nil
    )
    #expect((none as? [String: Any]).map { Array($0.keys) } == ["query.value"])
  }
}
