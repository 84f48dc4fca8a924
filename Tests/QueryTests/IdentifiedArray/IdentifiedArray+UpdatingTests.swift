import Foundation
import TestSupport
import Testing

@testable import Query

@Suite("IdentifiedArray updating")
struct IdentifiedArrayUpdatingTests {
  // MARK: - By id

  @Test(arguments: [1, 8, 9, 40])
  func updatesInPlaceOrAppends(count: Int) {
    var array = items(0..<count)
    for id in 0..<count {
      #expect(array.updateOrAppend(Item(id: id, name: "new")) == Item(id: id))
    }
    #expect(array.ids == Array(0..<count))
    #expect(array.allSatisfy { $0.name == "new" })
    #expect(array.updateOrAppend(Item(id: -1)) == nil)
    #expect(array.ids == (0..<count) + [-1])
    var empty = IdentifiedArrayOf<Item>()
    #expect(empty.updateOrAppend(Item(id: 3)) == nil)
    #expect(empty.ids == [3])
  }

  @Test(arguments: [0, 1, 8, 9, 20])
  func updatesInPlaceOrInserts(count: Int) {
    for position in 0...count {
      var array = items(0..<count)
      var ids = Array(0..<count)
      #expect(array.updateOrInsert(Item(id: 50), at: position) == (nil, position))
      ids.insert(50, at: position)
      #expect(array.ids == ids)
      for at in [0, count] {
        let new = Item(id: 50, name: "at \(at)")
        let (old, index) = array.updateOrInsert(new, at: at)
        #expect(old?.id == 50)
        #expect(index == position)
        #expect(array.ids == ids)
        #expect(array[id: 50] == new)
      }
    }
  }

  // Replacing is tested in IdentifiedArrayTests.

  @Test func anIDThatAnotherElementHasStopsTheProgram() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var array = items([1, 2])
      array.replace(id: 1, with: Item(id: 2))
    }
    try expectSentence("Two elements of an IdentifiedArray have the id 2. Give each", in: result)
  }

  // MARK: - Making one of equal ids

  @Test func equalIDsBecomeOneAtTheFirstPlace() throws {
    let list = [
      Item(id: 1, name: "a"), Item(id: 2, name: "b"), Item(id: 1, name: "c"),
      Item(id: 1, name: "d"),
    ]
    let joined = IdentifiedArray(list) { Item(id: $0.id, name: $0.name + $1.name) }
    #expect(joined == [Item(id: 1, name: "acd"), Item(id: 2, name: "b")])
    #expect(IdentifiedArray(list, uniquingIDsWith: { $1 })[id: 1]?.name == "d")
    #expect(IdentifiedArray([Item](), uniquingIDsWith: { $1 }).isEmpty)
    #expect(throws: TestError()) { _ = try IdentifiedArray(list) { _, _ in throw TestError() } }
    let many = (0..<100).map { Item(id: $0 % 30, values: [$0]) }
    let sums = IdentifiedArray(many) { Item(id: $0.id, values: $0.values + $1.values) }
    #expect(sums.ids == Array(0..<30))
    #expect(sums[id: 9]?.values == [9, 39, 69, 99])
  }

  @Test func aResultWithAnotherIDStopsTheProgram() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = IdentifiedArray([Item(id: 1), Item(id: 1)]) { _, _ in Item(id: 2) }
    }
    try expectSentence(
      "An element with the id 2 was written over the element with the id 1", in: result)
  }

  // MARK: - Moving

  @Test func movesBeforeTheElementOfTheOldPosition() {
    func moved(_ offsets: some Sequence<Int>, _ destination: Int) -> [Int] {
      var array = items(0..<5)
      array.move(fromOffsets: offsets, toOffset: destination)
      #expect(array.ids.enumerated().allSatisfy { array.index(id: $1) == $0 })
      return array.ids
    }
    #expect(moved([0, 3], 2) == [1, 0, 3, 2, 4])
    #expect(moved([3, 0, 3], 2) == [1, 0, 3, 2, 4])
    #expect(moved(IndexSet([0, 3]), 2) == [1, 0, 3, 2, 4])
    #expect(moved([4], 0) == [4, 0, 1, 2, 3])
    #expect(moved([0], 5) == [1, 2, 3, 4, 0])
    #expect(moved([2], 2) == [0, 1, 2, 3, 4])
    #expect(moved([2], 3) == [0, 1, 2, 3, 4])
    #expect(moved(0..<5, 3) == [0, 1, 2, 3, 4])
    #expect(moved(0..<2, 5) == [2, 3, 4, 0, 1])
    #expect(moved([], 0) == [0, 1, 2, 3, 4])
    var empty = items([])
    empty.move(fromOffsets: [], toOffset: 0)
    #expect(empty.isEmpty)
  }

  // MARK: - Bounds

  @Test func aPositionOutOfRangeStopsTheProgram() async throws {
    let insertion = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var array = items([1])
      // Though the id is there.
      array.updateOrInsert(Item(id: 1), at: 2)
    }
    try expectSentence("IdentifiedArray index 2 is out of range", in: insertion)
    let destination = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var array = items([1])
      array.move(fromOffsets: [], toOffset: 2)
    }
    try expectSentence("IdentifiedArray index 2 is out of range", in: destination)
    let offset = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var array = items([1])
      array.move(fromOffsets: [1], toOffset: 0)
    }
    try expectSentence("IdentifiedArray index 1 is out of range", in: offset)
  }

  // MARK: - Sharing

  @Test func aCopyIsNotChanged() {
    let original = items(0..<20)
    let edits: [(inout IdentifiedArrayOf<Item>) -> Void] = [
      { $0.updateOrAppend(Item(id: 1, name: "x")) }, { $0.updateOrAppend(Item(id: -1)) },
      { $0.updateOrInsert(Item(id: 1, name: "x"), at: 0) },
      { $0.updateOrInsert(Item(id: -1), at: 0) }, { $0.replace(id: 1, with: Item(id: -1)) },
      { $0.remove(Item(id: 3)) }, { $0.remove(atOffsets: 3..<9) },
      { $0.move(fromOffsets: [3], toOffset: 0) },
    ]
    for edit in edits {
      var copy = original
      edit(&copy)
      #expect(copy != original)
      #expect(original == items(0..<20))
    }
    var copy = original
    copy.remove(atOffsets: [])
    copy.move(fromOffsets: [], toOffset: 0)
    copy.remove(Item(id: 50))
    copy.replace(id: 50, with: Item(id: 51))
    #expect(copy.storage === original.storage)
  }

  // MARK: - Walks

  /// Against an array of ids and names.
  @Test(arguments: SeededGenerator.seeds(6))
  func aWalkGoesAsInAnArray(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var array = IdentifiedArrayOf<Item>()
    var model = [(id: Int, name: String)]()
    let ids = 0..<[6, 12, 60].randomElement(using: &random)!
    for step in 0..<600 {
      let id = ids.randomElement(using: &random)!
      let new = Item(id: id, name: "\(step)")
      let place = model.firstIndex { $0.id == id }
      let position = Int.random(in: 0...model.count, using: &random)
      let offsets = model.indices.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
      switch Int.random(in: 0..<9, using: &random) {
      case 0, 1:
        #expect(array.updateOrAppend(new)?.name == place.map { model[$0].name })
        if let place { model[place].name = new.name } else { model.append((id, new.name)) }
      case 2, 3:
        let (old, index) = array.updateOrInsert(new, at: position)
        #expect(old?.name == place.map { model[$0].name })
        #expect(index == place ?? position)
        if let place {
          model[place].name = new.name
        } else {
          model.insert((id, new.name), at: position)
        }
      case 4:
        #expect(array.remove(new)?.name == place.map { model[$0].name })
        if let place { model.remove(at: place) }
      case 5 where step % 3 == 0:
        array.remove(atOffsets: offsets.shuffled(using: &random))
        model = model.indices.filter { !offsets.contains($0) }.map { model[$0] }
      case 6:
        array.move(fromOffsets: offsets.shuffled(using: &random), toOffset: position)
        let rest = model.indices.filter { !offsets.contains($0) }
        let order = rest.filter { $0 < position } + offsets + rest.filter { $0 >= position }
        model = order.map { model[$0] }
      case 7:
        let other = ids.randomElement(using: &random)!
        if other != id, model.contains(where: { $0.id == other }) { break }
        #expect(array.replace(id: id, with: Item(id: other, name: "\(step)")) == (place != nil))
        if let place { model[place] = (other, "\(step)") }
      default:
        let kept: IdentifiedArrayOf<Item> = array.filter { $0.id % 3 != id % 3 }
        #expect(kept.ids == model.map(\.id).filter { $0 % 3 != id % 3 })
        #expect(kept.allSatisfy { kept[id: $0.id] == $0 })
      }
      #expect(array.map(\.id) == model.map(\.id))
      #expect(array.map(\.name) == model.map(\.name))
      #expect(model.indices.allSatisfy { array.index(id: model[$0].id) == $0 })
    }
  }
}
