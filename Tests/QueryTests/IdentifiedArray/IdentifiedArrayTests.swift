import TestSupport
import Testing

@testable import Query

struct Item: Identifiable, Hashable, Codable, Comparable {
  var id: Int
  var name = ""
  var values: [Int] = []

  static func < (lhs: Item, rhs: Item) -> Bool { lhs.name < rhs.name }
}

func items(_ ids: some Sequence<Int>) -> IdentifiedArrayOf<Item> {
  IdentifiedArray(uniqueElements: ids.map { Item(id: $0) })
}

@Suite("IdentifiedArray")
struct IdentifiedArrayTests {
  // MARK: - Making

  @Test func emptyTakesOneWordAndNoAllocation() {
    let array = IdentifiedArrayOf<Item>()
    #expect(array.storage == nil)
    #expect(MemoryLayout.size(ofValue: array) == MemoryLayout<UnsafeRawPointer>.size)
    #expect(array.isEmpty)
    #expect(array.first == nil)
    #expect(array.last == nil)
    #expect(array.elements == [])
    #expect(array.index(id: 1) == nil)
    #expect(!array.contains(id: 1))
    #expect(array[id: 1] == nil)
    #expect(IdentifiedArrayOf<Item>(uniqueElements: []).storage == nil)
    #expect(([] as IdentifiedArrayOf<Item>).storage == nil)
  }

  @Test(arguments: [1, 2, 8, 9, 100])
  func elementsKeepTheirOrder(count: Int) {
    let ids = (0..<count).map { ($0 * 7) % 101 }
    let array = items(ids)
    #expect(array.ids == ids)
    #expect(array.count == count)
    #expect(ids.indices.allSatisfy { array.index(id: ids[$0]) == $0 })
    #expect(ids.allSatisfy { array.contains(id: $0) && array[id: $0]?.id == $0 })
    #expect(array.index(id: 1_000) == nil)
  }

  @Test func equalIDsStopTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = items([1, 2, 1])
    }
    try expectSentence("Two elements of an IdentifiedArray have the id 1. Give each", in: result)
  }

  // MARK: - By id

  @Test(arguments: [3, 30])
  func subscriptReplacesRemovesAndAppends(count: Int) {
    var array = items(0..<count)
    array[id: 1] = Item(id: 1, name: "one")
    #expect(array[1] == Item(id: 1, name: "one"))
    array[id: 1] = nil
    #expect(array.ids == [0] + (2..<count))
    array[id: 1] = nil
    #expect(array.count == count - 1)
    array[id: 1] = Item(id: 1)
    #expect(array.ids == [0] + (2..<count) + [1])
    array[id: count]?.name = "absent"
    #expect(array.count == count)
  }

  @Test func subscriptOfAnEmptyArray() {
    var array = IdentifiedArrayOf<Item>()
    array[id: 1]?.name = "absent"
    array[id: 1] = nil
    #expect(array.storage == nil)
    array[id: 1] = Item(id: 1)
    #expect(array.ids == [1])
  }

  @Test func anotherIDThanTheSubscriptsStopsTheProgram() async throws {
    let replaced = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var array = items([1])
      array[id: 1] = Item(id: 2)
    }
    try expectSentence(
      "An element with the id 2 was written over the element with the id 1", in: replaced)
    try expectSentence("Remove the element first, and then insert the new one.", in: replaced)
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array[id: 3] = Item(id: 2)
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array[id: 1]?.id = 2
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.modify(id: 1) { $0.id = 2 }
    }
  }

  @Test func modifyReturnsWhatItsBodyReturns() throws {
    struct Failure: Error {}
    var array = items(0..<20)
    let id = array.modify(id: 5) { item in
      item.name = "five"
      return item.id
    }
    #expect(id == 5)
    #expect(array.modify(id: 50) { $0.id } == nil)
    #expect(throws: Failure.self) {
      try array.modify(id: 6) { item throws(Failure) in
        item.name = "six"
        throw Failure()
      }
    }
    #expect(array[5].name == "five")
    #expect(array[6].name == "six")
  }

  // MARK: - Copies

  @Test(arguments: [4, 40])
  func editsByIDCopyNeitherTheElementNorTheArray(count: Int) {
    var array = items(0..<count)
    array[id: 2]?.values = Array(repeating: 0, count: 50)
    array[id: 2]?.values.reserveCapacity(60)
    let storage = array.storage.map(ObjectIdentifier.init)
    let buffer = array[id: 2]?.values.withUnsafeBufferPointer(\.baseAddress)
    array[id: 2]?.values[7] = 1
    array[id: 2]?.values.append(2)
    array.modify(id: 2) { $0.values[8] = 3 }
    array[2].values[9] = 4
    #expect(array.storage.map(ObjectIdentifier.init) == storage)
    #expect(array[id: 2]?.values.withUnsafeBufferPointer(\.baseAddress) == buffer)
    #expect(array[2].values[7...10] == [1, 3, 4, 0])
    #expect(array[2].values.last == 2)
  }

  @Test(arguments: [1, 4, 40])
  func copiesAreIndependent(count: Int) {
    let original = items(0..<count)
    let edits: [(inout IdentifiedArrayOf<Item>) -> Void] = [
      { $0[id: 0]?.name = "x" }, { $0[0].name = "x" }, { $0[id: 0] = nil }, { $0.remove(id: 0) },
      { $0.append(Item(id: -1)) }, { $0.insert(Item(id: -1), at: 0) }, { $0.removeAll() },
      { $0.removeAll(keepingCapacity: true) }, { $0.removeLast() }, { $0.removeAll { _ in true } },
      { $0.modify(id: 0) { $0.name = "x" } }, { $0[id: -1] = Item(id: -1) },
    ]
    for edit in edits {
      var copy = original
      edit(&copy)
      #expect(copy != original)
      #expect(original.ids == Array(0..<count))
      #expect(original.allSatisfy { $0.name.isEmpty })
      #expect((0..<count).allSatisfy { original.index(id: $0) == $0 })
    }
  }

  @Test func whatChangesNothingCopiesNothing() {
    let original = items(0..<20)
    var copy = original
    copy.append(Item(id: 3))
    copy.insert(Item(id: 3), at: 0)
    copy.append(contentsOf: [Item(id: 4), Item(id: 5)])
    copy.remove(id: 50)
    copy.removeAll { _ in false }
    copy[id: 50] = nil
    copy[id: 50]?.name = "x"
    copy.modify(id: 50) { $0.name = "x" }
    copy.swapAt(3, 3)
    #expect(copy.storage === original.storage)
  }

  // MARK: - Replacing

  @Test(arguments: [1, 2, 8, 9, 40])
  func replacesInPlace(count: Int) {
    for position in 0..<count {
      var array = items(0..<count)
      if count > 20, position != 5 { array.remove(at: 5) }
      let ids = array.ids
      let old = array
      guard let index = array.index(id: position) else { continue }
      #expect(array.replace(id: position, with: Item(id: -1)) == true)
      #expect(array.ids == ids.map { $0 == position ? -1 : $0 })
      #expect(array.index(id: -1) == index)
      #expect(array.index(id: position) == nil)
      #expect(array.replace(id: position, with: Item(id: -2)) == false)
      #expect(array.replace(id: -1, with: Item(id: -1)) == true)
      #expect(old.ids == ids)
      #expect(array.remove(id: -1) == Item(id: -1))
      #expect(array.ids == ids.filter { $0 != position })
    }
  }
}
