import Foundation
import Testing

@testable import Query

@Suite("IdentifiedArray conformances")
struct IdentifiedArrayConformancesTests {
  @Test func literals() async {
    let array: IdentifiedArrayOf<Item> = [Item(id: 2), Item(id: 1)]
    #expect(array.ids == [2, 1])
    await #expect(processExitsWith: .failure) {
      _ = [Item(id: 1), Item(id: 1)] as IdentifiedArrayOf<Item>
    }
  }

  @Test func equalityIsThatOfTheElementsInOrder() {
    let array = items(0..<20)
    var other = items(-1..<20)
    #expect(array != other)
    other.remove(id: -1)
    #expect(array == other)
    #expect(array.hashValue == other.hashValue)
    var holed = items([0, 100] + (1..<20))
    holed.remove(id: 100)
    #expect(array == holed)
    #expect(array.hashValue == holed.hashValue)
    other[id: 3]?.name = "x"
    #expect(array != other)
    #expect(items([1, 2]) != items([2, 1]))
    #expect(Set([items([1, 2]), items([2, 1]), items([1, 2])]).count == 2)
    var emptied = items([1])
    emptied.removeLast()
    #expect(emptied == [])
    #expect(emptied.hashValue == IdentifiedArrayOf<Item>().hashValue)
  }

  @Test func isCodedAsAnArray() throws {
    for count in [0, 3, 30] {
      let array = items(0..<count)
      let data = try JSONEncoder().encode(array)
      #expect(try JSONDecoder().decode([Item].self, from: data) == array.elements)
      #expect(try JSONDecoder().decode(IdentifiedArrayOf<Item>.self, from: data) == array)
    }
    let (holed, ids) = IdentifiedArrayCollectionTests.holed
    let data = try JSONEncoder().encode(holed)
    #expect(try JSONDecoder().decode(IdentifiedArrayOf<Item>.self, from: data).ids == ids)
  }

  @Test func decodingEqualIDsThrows() throws {
    let data = try JSONEncoder().encode(["list": [1, 2, 1].map { Item(id: $0) }])
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([String: IdentifiedArrayOf<Item>].self, from: data)
    }
    guard case .dataCorrupted(let context) = error else {
      Issue.record("not dataCorrupted: \(String(describing: error))")
      return
    }
    #expect(context.debugDescription == "The element at index 2 has the id of an earlier element.")
    #expect(context.codingPath.first?.stringValue == "list")
  }

  @Test func describesItselfAsAnArray() {
    let array = items(0..<12)
    #expect(array.description == array.elements.description)
    #expect(items([]).description == "[]")
    #expect(Mirror(reflecting: array).displayStyle == .collection)
    #expect(Mirror(reflecting: array).children.map { ($0.value as? Item)?.id } == Array(0..<12))
  }

  @Test func isSendableByElement() async {
    func send(_ value: some Sendable & Collection) -> Int { value.count }
    let array = items(0..<12)
    let count = await Task.detached { send(array) }.value
    #expect(count == 12)
  }
}
