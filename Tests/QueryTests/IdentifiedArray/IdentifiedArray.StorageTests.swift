import Testing

@testable import Query

@Suite("IdentifiedArray storage")
struct IdentifiedArrayStorageTests {
  typealias Storage = IdentifiedArrayOf<Item>.Storage

  @Test func slotCountsArePowersOfTwo() {
    #expect((0...9).map(Storage.slotCount(for:)) == [1, 1, 2, 4, 4, 8, 8, 8, 8, 16])
    #expect(Storage.slotCount(for: 1_024) == 1_024)
    #expect(Storage.slotCount(for: 1_025) == 2_048)
  }

  @Test func eightElementsHaveNoIndex() throws {
    var array = items(0..<8)
    #expect(try #require(array.storage).fields.pointee.index == nil)
    array.append(Item(id: 8))
    #expect(try #require(array.storage).fields.pointee.index?.count == 9)
    for id in 0..<4 { array.remove(id: id) }
    #expect(try #require(array.storage).fields.pointee.index?.count == 5)
    array.remove(id: 6)
    let storage = try #require(array.storage)
    #expect(storage.fields.pointee.index == nil)
    #expect(storage.span == 4)
    #expect(array.ids == [4, 5, 7, 8])
  }

  @Test func aWindowStaysInItsSlots() {
    var array = items(0..<20)
    let storage = array.storage.map(ObjectIdentifier.init)
    for id in 20..<1_000 {
      array.append(Item(id: id))
      #expect(array.removeFirst().id == id - 20)
    }
    #expect(array.storage.map(ObjectIdentifier.init) == storage)
    #expect(array.ids == Array(980..<1_000))
    #expect(array.index(id: 990) == 10)
  }

  @Test func movingToMoreSlotsKeepsHolesAndPositions() throws {
    let (array, ids) = IdentifiedArrayCollectionTests.holed
    let old = try #require(array.storage)
    let new = old.relocated(slotCount: 512, moving: false)
    #expect(new !== old)
    #expect(new.span == old.span)
    #expect(ids.allSatisfy { new.position(of: $0) == old.position(of: $0) })
    #expect(ids.indices.allSatisfy { new.slot(new.position(at: $0)).pointee?.id == ids[$0] })
    #expect(ids.indices.allSatisfy { new.offset(of: new.position(of: ids[$0])!) == $0 })
  }
}
