import Foundation
import Testing

@testable import Query

@Suite("IdentifiedArray removal")
struct IdentifiedArrayRemovalTests {
  @Test(arguments: [1, 2, 5, 8, 9, 20])
  func removesEveryPosition(count: Int) {
    for position in 0..<count {
      var ids = Array(0..<count)
      ids.remove(at: position)
      var array = items(0..<count)
      #expect(array.remove(at: position) == Item(id: position))
      #expect(array.ids == ids)
      #expect(ids.allSatisfy { array.index(id: $0) == ids.firstIndex(of: $0) })
      #expect(array.indices.map { array[$0].id } == ids)
      var other = items(0..<count)
      #expect(other.remove(id: position) == Item(id: position))
      #expect(other == array)
      #expect(other.remove(id: position) == nil)
    }
  }

  @Test(arguments: [1, 8, 9, 40])
  func removesTheElementOfAnId(count: Int) {
    var array = items(0..<count)
    // Only the id counts.
    #expect(array.remove(Item(id: 0, name: "other")) == Item(id: 0))
    #expect(array.remove(Item(id: 0)) == nil)
    #expect(array.ids == Array(1..<count))
  }

  @Test(arguments: [5, 9, 40])
  func removesAtOffsets(count: Int) {
    var array = items(0..<count)
    array.remove(atOffsets: [])
    #expect(array.ids == Array(0..<count))
    array.remove(atOffsets: [3, 0, 3])
    #expect(array.ids == (0..<count).filter { $0 != 0 && $0 != 3 })
    array.remove(atOffsets: IndexSet(integersIn: 0..<2))
    #expect(array.ids == Array(4..<count))
    array.remove(atOffsets: array.indices)
    #expect(array.isEmpty)
    array.remove(atOffsets: [])
  }

  @Test(arguments: [0, 6, 60])
  func filtersAsTheSameType(count: Int) {
    struct Failure: Error {}
    let array = items(0..<count)
    let even = array.filter { $0.id % 2 == 0 }
    #expect(even.ids == (0..<count).filter { $0 % 2 == 0 })
    #expect(even.ids.allSatisfy { even[id: $0] == Item(id: $0) && even.index(id: $0) == $0 / 2 })
    #expect(array.filter { _ in false }.storage == nil)
    #expect(array.filter { _ in true } == array)
    let list: [Item] = array.filter { $0.id == 1 }
    #expect(list.map(\.id) == even.ids.filter { $0 == 0 && count > 1 }.map { _ in 1 })
    if count > 0 {
      #expect(throws: Failure.self) { _ = try array.filter { _ in throw Failure() } }
    }
  }

  @Test func removesAtTheEnds() {
    var array = items(0..<12)
    #expect(array.removeFirst().id == 0)
    #expect(array.removeLast().id == 11)
    #expect(array.ids == Array(1..<11))
  }

  @Test func removesAll() {
    var array = items(0..<12)
    array.removeAll()
    #expect(array.storage == nil)
    array = items(0..<12)
    array.removeAll(keepingCapacity: true)
    #expect(array.isEmpty)
    #expect(array.storage?.slotCount == 16)
    array.append(Item(id: 3))
    #expect(array.ids == [3])
    array = []
    array.removeAll(keepingCapacity: true)
    #expect(array.storage == nil)
  }

  @Test(arguments: [6, 60])
  func removesWhereAPredicateHolds(count: Int) {
    struct Failure: Error {}
    var array = items(0..<count)
    #expect(throws: Failure.self) {
      try array.removeAll { item in
        if item.id == 4 { throw Failure() }
        return true
      }
    }
    #expect(array.count == count)
    array.removeAll { $0.id % 5 != 0 }
    #expect(array.ids == Array(stride(from: 0, to: count, by: 5)))
    array.removeAll { _ in true }
    #expect(array.isEmpty)
  }

  @Test func aPositionOutOfRangeStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.remove(at: 1)
    }
    await #expect(processExitsWith: .failure) {
      var array = items([])
      array.removeFirst()
    }
    await #expect(processExitsWith: .failure) {
      var array = items([])
      array.removeLast()
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.remove(atOffsets: [1])
    }
    await #expect(processExitsWith: .failure) {
      var array = items([1])
      array.remove(atOffsets: [-1])
    }
  }

  // MARK: - Memory

  @Test func oneElementComingAndGoingReusesTheStorage() {
    var array = items([0])
    let storage = array.storage.map(ObjectIdentifier.init)
    for id in 1...100 {
      array.remove(id: id - 1)
      array.append(Item(id: id))
    }
    array[id: 100] = nil
    #expect(array.isEmpty)
    #expect(array.storage.map(ObjectIdentifier.init) == storage)
    #expect(array.storage?.slotCount == 1)
  }

  @Test func theLastElementOfASharedStorageIsNotCopied() {
    var array = items([0])
    let copy = array
    #expect(array.remove(id: 0) == Item(id: 0))
    #expect(array.storage == nil)
    #expect(copy.ids == [0])
  }

  @Test func removedElementsAreReleased() {
    final class Resource {}
    struct Holder: Identifiable {
      let id: Int
      let resource: Resource
    }
    weak var removed: Resource?
    weak var kept: Resource?
    var array = IdentifiedArrayOf<Holder>()
    for id in 0..<20 {
      let resource = Resource()
      if id == 10 { removed = resource }
      if id == 11 { kept = resource }
      array.append(Holder(id: id, resource: resource))
    }
    array.remove(id: 10)
    #expect(removed == nil)
    #expect(kept != nil)
    array.removeAll(keepingCapacity: true)
    #expect(kept == nil)
  }

  @Test func aLargeStorageIsGivenBack() {
    var array = items(0..<1_000)
    for id in 0..<900 { array.remove(id: id) }
    #expect(array.storage?.slotCount == 256)
    #expect(array.ids == Array(900..<1_000))
    for id in 900..<999 { array.remove(id: id) }
    #expect(array.storage?.slotCount == 16)
    #expect(array.index(id: 999) == 0)
    array.remove(id: 999)
    #expect(array.storage == nil)
  }
}
