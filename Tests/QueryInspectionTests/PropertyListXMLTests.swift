import Foundation
import Testing

@testable import QueryInspection

/// What Foundation would show of a property list.
@Suite struct PropertyListXMLTests {
  private struct Everything: Codable {
    var text = "a < b & c > \"d\" 'e'"
    var wide = "café 🚲\nline"
    var empty = ""
    var yes = true
    var no = false
    var small = 7
    var negative = -1
    var large = Int64.max
    var unsigned = UInt64.max
    var whole = 3.0
    var real = 0.1
    var tiny = 1e-300
    var single: Float = 1.5
    var date = Date(timeIntervalSince1970: 1_700_000_000)
    var data = Data((0..<100).map { UInt8($0) })
    var list = ["a", "b"]
    var none = [Int]()
    var nested = [["x": [1, 2]], ["x": [3]]]
    var object = [String: Int]()
  }

  @Test func itIsWhatFoundationWrites() throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let data = try encoder.encode(Everything())
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    let xml = try PropertyListSerialization.data(
      fromPropertyList: list, format: .xml, options: 0)
    let binary = try #require(BinaryPropertyList(data))
    let text = try #require(PropertyListXML.text(of: binary))
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let wanted = String(decoding: xml, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    for (line, other) in zip(lines, wanted) { #expect(line == other) }
    #expect(lines.count == wanted.count)
  }

  @Test func aListThatIsTooDeepIsNotShown() throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let data = try encoder.encode(Nest(depth: 600))
    let binary = try #require(BinaryPropertyList(data))
    #expect(PropertyListXML.text(of: binary) == nil)
  }

  private struct Nest: Encodable {
    let depth: Int

    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      if self.depth > 0 { try container.encode(Nest(depth: self.depth - 1)) }
    }
  }
}
