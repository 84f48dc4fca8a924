import Testing

@testable import Query

@Suite("IdentifiedArray insertion")
struct IdentifiedArrayInsertionTests {
  @Test(arguments: [2, 20])
  func appendReportsWhereTheElementIs(count: Int) {
    var array = items(0..<count)
    #expect(array.append(Item(id: 50)) == (true, count))
    #expect(array.append(Item(id: 1, name: "again")) == (false, 1))
    #expect(array[id: 1]?.name == "")
    #expect(array.ids == (0..<count) + [50])
    array.append(contentsOf: [Item(id: 60), Item(id: 0), Item(id: 60), Item(id: 61)])
    #expect(array.ids == (0..<count) + [50, 60, 61])
  }

  @Test(arguments: [2, 7, 8, 9, 20])
  func insertsAtEveryPosition(count: Int) {
    for position in 0...count {
      var array = items(0..<count)
      var ids = Array(0..<count)
      #expect(array.insert(Item(id: 50), at: position) == (true, position))
      ids.insert(50, at: position)
      #expect(array.ids == ids)
      #expect(ids.allSatisfy { array.index(id: $0) == ids.firstIndex(of: $0) })
      #expect(array.insert(Item(id: 50, name: "again"), at: 0) == (false, position))
      #expect(array[id: 50]?.name == "")
    }
  }

  @Test func insertsBetweenHoles() {
    var (array, ids) = IdentifiedArrayCollectionTests.holed
    for (id, position) in [(200, 0), (201, 30), (202, 5), (203, 66)] {
      array.insert(Item(id: id), at: position)
      ids.insert(id, at: position)
      #expect(array.ids == ids)
      #expect(ids.indices.allSatisfy { array.index(id: ids[$0]) == $0 })
    }
  }

  @Test func insertionAtTheFrontRenumbersNothing() {
    var array = items(0..<20)
    let position = array.storage?.position(of: 7)
    for id in 1...1_000 { array.insert(Item(id: -id), at: 0) }
    #expect(array.storage?.position(of: 7) == position)
    #expect(array.ids == Array(-1_000..<20))
    #expect((-1_000..<20).allSatisfy { array.index(id: $0) == $0 + 1_000 })
    #expect(array.storage?.slotCount == 1_024)
  }

  @Test func insertionAtBothEndsInTurn() {
    var array = IdentifiedArrayOf<Item>()
    for id in 1...500 {
      array.append(Item(id: id))
      array.insert(Item(id: -id), at: 0)
    }
    #expect(array.ids == Array(-500 ... -1) + Array(1...500))
    #expect(array.storage?.slotCount == 1_024)
  }

  @Test func aPositionOutOfRangeStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.insert(Item(id: 2), at: 2)
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.insert(Item(id: 2), at: -1)
    }
  }

  @Test func reservedRoomIsUsed() {
    var array = IdentifiedArrayOf<Item>()
    array.reserveCapacity(0)
    #expect(array.storage == nil)
    array.reserveCapacity(100)
    let storage = array.storage.map(ObjectIdentifier.init)
    for id in 0..<100 { array.append(Item(id: id)) }
    array.reserveCapacity(50)
    #expect(array.storage.map(ObjectIdentifier.init) == storage)
    #expect(array.storage?.slotCount == 128)
  }
}
