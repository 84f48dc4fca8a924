import TestSupport
import Testing

@testable import Query

@Suite("IdentifiedArray as a collection")
struct IdentifiedArrayCollectionTests {
  /// 0..<100 without the multiples of three but 0: with holes, and wrapped around the ring.
  static var holed: (array: IdentifiedArrayOf<Item>, ids: [Int]) {
    var array = items(50..<100)
    for id in (0..<50).reversed() { array.insert(Item(id: id), at: 0) }
    for id in stride(from: 3, to: 99, by: 3) { array.remove(id: id) }
    return (array, (0..<100).filter { $0 == 0 || $0 % 3 != 0 || $0 == 99 })
  }

  @Test func readsByPositionBesideHoles() throws {
    let (array, ids) = Self.holed
    let storage = try #require(array.storage)
    #expect(storage.span > storage.count)
    #expect(storage.slotNumber(storage.head) > storage.slotNumber(storage.end - 1))
    #expect(array.ids == ids)
    #expect(array.startIndex == 0)
    #expect(array.endIndex == ids.count)
    #expect(array.indices == ids.indices)
    #expect(array.indices.map { array[$0].id } == ids)
    #expect(ids.map { array.index(id: $0) } == Array(ids.indices))
    #expect(array.first?.id == 0)
    #expect(array.last?.id == 99)
    #expect(array.reversed().map(\.id) == ids.reversed())
    #expect(array[10..<20].map(\.id) == Array(ids[10..<20]))
    #expect(array.elements.map(\.id) == ids)
    #expect(array.firstIndex { $0.id == 50 } == ids.firstIndex(of: 50))
  }

  @Test func writesByPositionBesideHoles() {
    var (array, ids) = Self.holed
    for index in array.indices { array[index].name = "\(index)" }
    array[3] = Item(id: ids[3], name: "three")
    array[40..<42] = items(ids[40..<42])[...]
    var names = ids.indices.map { "\($0)" }
    names[3] = "three"
    names[40] = ""
    names[41] = ""
    #expect(array.map(\.name) == names)
    #expect(array.ids == ids)
  }

  @Test func anIteratorOutlivesAChange() {
    var array = items(0..<3)
    var iterator = array.makeIterator()
    array.removeAll()
    #expect(iterator.next()?.id == 0)
    #expect(iterator.next()?.id == 1)
    #expect(iterator.next()?.id == 2)
    #expect(iterator.next() == nil)
    #expect(iterator.next() == nil)
  }

  @Test func anotherIDByPositionStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var array = items([1, 2])
      array[0] = Item(id: 3)
    }
    try expectSentence(
      "An element with the id 3 was written over the element with the id 1", in: result)
    await #expect(processExitsWith: .failure) {
      var array = items([1, 2])
      array[0].id = 2
    }
  }

  @Test func aPositionOutOfRangeStopsTheProgram() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = items([1, 2])[2]
    }
    try expectSentence("index 2 is out of range: the array has 2 elements.", in: result)
    await #expect(processExitsWith: .failure) { _ = items([])[0] }
    await #expect(processExitsWith: .failure) { _ = items([1])[-1] }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array[1].name = "x"
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.swapAt(0, 1)
    }
  }

  @Test(arguments: [6, 60])
  func algorithmsThatReorder(count: Int) {
    var array = items(0..<count)
    array.swapAt(1, count - 2)
    var expected = Array(0..<count)
    expected.swapAt(1, count - 2)
    #expect(array.ids == expected)
    #expect(array.index(id: 1) == count - 2)
    array.reverse()
    #expect(array.ids == expected.reversed())
    for id in 0..<count { array[id: id]?.name = String(UnicodeScalar(UInt8(33 + id))) }
    array.sort()
    #expect(array.ids == Array(0..<count))
    array.sort { $0.id > $1.id }
    #expect(array.ids == (0..<count).reversed())
    let pivot = array.partition { $0.id < 2 }
    #expect(pivot == count - 2)
    #expect(Set(array[pivot...].map(\.id)) == [0, 1])
    array.shuffle()
    #expect((0..<count).allSatisfy { array[array.index(id: $0)!].id == $0 })
  }

  @Test func sortingThatThrowsLeavesTheArray() {
    struct Failure: Error {}
    var array = items([2, 1])
    #expect(throws: Failure.self) { try array.sort { _, _ in throw Failure() } }
    #expect(array.ids == [2, 1])
  }

  @Test func sortingIsStable() {
    var array = items(0..<30)
    array.sort { $0.id % 3 < $1.id % 3 }
    #expect(array.ids == [0, 1, 2].flatMap { stride(from: $0, to: 30, by: 3) })
  }
}
