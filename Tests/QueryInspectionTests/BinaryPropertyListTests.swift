import Foundation
import StorageTestSupport
import TestSupport
import Testing

@testable import QueryInspection
@testable import QuerySQLite

/// Reliability, hostile input: a property list that would be more than there is memory is known for one
/// before anything is made of it.
@Suite struct BinaryPropertyListTests {
  /// A list of parts.
  private static func list(_ parts: [[UInt8]]) -> Data {
    var data = Data("bplist00".utf8)
    var offsets = [Int]()
    for part in parts {
      offsets.append(data.count)
      data += part
    }
    let table = data.count
    func bytes(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    for offset in offsets { data += bytes(offset, 4) }
    data += [0, 0, 0, 0, 0, 0, 4, 4] + bytes(parts.count, 8) + bytes(0, 8) + bytes(table, 8)
    return data
  }

  private static func array(_ parts: Int...) -> [UInt8] {
    [0xa0 | UInt8(parts.count)]
      + parts.flatMap { part in
        (0..<4).reversed().map { UInt8(truncatingIfNeeded: part >> ($0 * 8)) }
      }
  }

  @Test func whatTheCoderWritesIsCounted() throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let data = try encoder.encode(["a": [1, 2, 3], "b": Array(0..<20)])
    // The dictionary, two keys, two arrays and 23 numbers.
    #expect(BinaryPropertyList(data)?.parts(upTo: 1_000) == 28)
    #expect(BinaryPropertyList(data)?.parts(upTo: 27) == nil)
  }

  @Test func aPartInManyPlacesIsCountedInEach() {
    let depth = 60
    let parts = (0..<depth).map { Self.array($0 + 1, $0 + 1) } + [[0x10, 1]]
    let data = Self.list(parts)
    #expect(BinaryPropertyList(data)?.parts(upTo: 100_000) == nil)
    #expect(InspectedValue.text(of: data, coder: "propertyList") == .bytes(data))
  }

  @Test func aListThatContainsItselfIsNone() {
    let data = Self.list([Self.array(1), Self.array(0)])
    #expect(BinaryPropertyList(data)?.parts(upTo: 100) == nil)
    #expect(InspectedValue.text(of: data, coder: "propertyList") == .bytes(data))
  }

  @Test func aDeepListMakesNoDeepCalls() {
    let depth = 50_000
    let data = Self.list((0..<depth).map { Self.array($0 + 1) } + [[0x10, 1]])
    #expect(InspectedValue.text(of: data, coder: "propertyList") == .bytes(data))
  }

  /// The last byte of the list, which is the place of the table, is taken for the beginning of a part.
  @Test(arguments: [0x10, 0x13, 0x14, 0x22, 0x23, 0x33, 0x41, 0x51, 0x61, 0x4f, 0xa1, 0xd1])
  func aPartThatWouldGoOnBehindTheEndIsNone(_ marker: UInt8) {
    var data = Data("bplist00".utf8)
    // So that the table is at the place that the marker says.
    data += [UInt8](repeating: 0, count: Int(marker) - data.count)
    let end = data.count + 1 + 32
    data += [UInt8(end - 1), 0, 0, 0, 0, 0, 0, 1, 1]
    for number in [1, 0, UInt8(marker)] { data += [0, 0, 0, 0, 0, 0, 0, number] }
    let list = BinaryPropertyList(data)
    #expect(list?.start(of: 0) == end - 1)
    #expect(list?.value(of: 0) == nil)
    #expect(InspectedValue.text(of: data, coder: "propertyList") == .bytes(data))
  }

  @Test func damagedListsAreBytes() throws {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let sound = try encoder.encode(["a": [1, 2, 3], "b": Array(0..<20)])
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<2_000 {
      var data = sound
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        data[Int.random(in: 0..<data.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      data = data.prefix(Int.random(in: 0...data.count, using: &generator) + 20)
      // It ends, whatever it is.
      _ = InspectedValue.text(of: data, coder: "propertyList")
    }
  }
}
