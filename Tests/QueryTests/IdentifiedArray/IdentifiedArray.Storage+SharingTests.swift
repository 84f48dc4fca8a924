import TestSupport
import Testing

@testable import Query

@Suite("IdentifiedArray storage sharing")
struct IdentifiedArrayStorageSharingTests {
  @Test func anAppendBesideACopyCopiesFewElements() throws {
    var array = items(0..<1000)
    let copy = array
    array.append(Item(id: 1000))
    let storage = try #require(array.storage)
    #expect(storage.slotCount == 1)
    #expect(storage.fields.pointee.base === copy.storage)
    #expect(array.ids == Array(0...1000))
    #expect(copy.ids == Array(0..<1000))
    #expect(array[1000].id == 1000)
    #expect(
      array.index(id: 3) == 3 && array.index(id: 1000) == 1000 && array.index(id: 1001) == nil)
  }

  @Test func aChangeOfTheLastElementBesideACopyCopiesFewElements() throws {
    var array = items(0..<1000)
    let copy = array
    array.modify(id: 998) { $0.name = "changed" }
    #expect(try #require(array.storage).slotCount <= 4)
    #expect(array[id: 998]?.name == "changed")
    #expect(copy[id: 998]?.name != "changed")
    #expect(array.first?.id == 0 && array.last?.id == 999 && array.count == 1000)
  }

  @Test func withoutTheCopyTheElementsComeTogetherAgain() throws {
    var array = items(0..<1000)
    var copy: IdentifiedArrayOf<Item>? = array
    array.append(Item(id: 1000))
    array.removeFirst()
    #expect(copy?.count == 1000)
    #expect(try #require(array.storage).isLayered)
    copy = nil
    array.append(Item(id: 1001))
    let storage = try #require(array.storage)
    #expect(!storage.isLayered && storage.head == 1)
    #expect(array.ids == Array(1...1001))
    #expect(array.ids.allSatisfy { array[id: $0]?.id == $0 })
  }

  @Test func whatIsRemovedAtTheFrontIsNotFoundAndMayComeAgain() throws {
    var array = items(0..<1000)
    let copy = array
    array.append(Item(id: 1000))
    #expect(array.removeFirst().id == 0)
    #expect(array.contains(id: 0) == false && array.index(id: 1) == 0)
    array.append(Item(id: 0, name: "again"))
    #expect(try #require(array.storage).isLayered)
    #expect(array[id: 0]?.name == "again" && array.index(id: 0) == 1000)
    #expect(copy.index(id: 0) == 0)
    array.removeLast()
    #expect(!array.contains(id: 0) && array.count == 1000)
  }

  @Test func manyRemovalsAtTheFrontLetGoOfTheBase() throws {
    var array = items(0..<1000)
    let copy = array
    array.append(Item(id: 1000))
    for id in 0...1000 { #expect(array.removeFirst().id == id) }
    #expect(array.isEmpty)
    #expect(copy.count == 1000)
  }

  /// What a handler does that keeps each state of a mutation.
  @Test func theCopiedElementsAreFewOverall() throws {
    var array = items(0..<10_000)
    var slots = 0
    var kept = array
    for id in 10_000..<12_000 {
      array.append(Item(id: id))
      array.removeFirst()
      slots += try #require(array.storage).slotCount
      kept = array
      array.modify(id: id) { $0.name = "done" }
      slots += try #require(array.storage).slotCount
      kept = array
    }
    #expect(kept.ids == Array(2_000..<12_000))
    #expect(kept.suffix(2_000).allSatisfy { $0.name == "done" })
    // As often as not it takes 16 384, if all are copied.
    #expect(slots / 4_000 < 80)
  }

  /// Appends with a copy of each state, until the storage stands on one that stands on another.
  private func layeredTwice(_ kept: inout IdentifiedArrayOf<Item>) throws -> IdentifiedArrayOf<Item>
  {
    var array = kept
    for id in kept.count... {
      array.append(Item(id: id))
      if try #require(array.storage).fields.pointee.base?.isLayered == true { break }
      kept = array
    }
    return array
  }

  @Test func aLongEndIsStoodOnInTurnAndComesTogetherAgainWithoutTheCopies() throws {
    var first: IdentifiedArrayOf<Item>? = items(0..<1000)
    var kept = try #require(first)
    var array = try self.layeredTwice(&kept)
    let count = array.count
    #expect(try #require(array.storage).slotCount == 1)
    array.removeFirst()
    #expect(array.ids == Array(1..<count) && kept.ids == Array(0..<count - 1))
    #expect((1..<count).allSatisfy { array[id: $0]?.id == $0 } && !array.contains(id: 0))
    kept = IdentifiedArrayOf<Item>()
    array.append(Item(id: count))
    #expect(try #require(array.storage).isLayered, "the first copy is there yet")
    #expect(array.ids == Array(1...count) && first?.ids == Array(0..<1000))
    #expect((1...count).allSatisfy { array[id: $0]?.id == $0 } && !array.contains(id: 0))
    first = nil
    array.append(Item(id: 0, name: "again"))
    #expect(try !#require(array.storage).isLayered)
    #expect(array.ids == Array(1...count) + [0])
    #expect(array.index(id: 0) == count && array.index(id: count) == count - 1)
  }

  @Test func whatIsStoodOnTwiceBecomesOneEndBesideACopy() throws {
    var kept = items(0..<1000)
    var array = try self.layeredTwice(&kept)
    let bottom = try #require(array.storage?.fields.pointee.base?.fields.pointee.base)
    var isOne = false
    for id in array.count..<array.count + 40 {
      kept = array
      array.append(Item(id: id))
      array.removeFirst()
      array.modify(id: id) { $0.name = "\(id)" }
      isOne = isOne || array.storage?.fields.pointee.base === bottom
    }
    #expect(isOne)
    #expect(array.ids == Array(40..<array.count + 40))
    #expect(array.ids.allSatisfy { array[id: $0]?.id == $0 })
    #expect(array.suffix(40).allSatisfy { $0.name == "\($0.id)" })
    #expect((0..<40).allSatisfy { !array.contains(id: $0) })
    #expect(kept.ids == Array(39..<array.count + 39))
  }

  @Test(arguments: SeededGenerator.seeds(4), [false, true])
  func randomWalkBesideAnArray(seed: UInt64, isAtTheEnds: Bool) throws {
    var random = SeededGenerator(seed: seed)
    var (array, model) = (items(0..<600), Array(items(0..<600)))
    var copies = [(IdentifiedArrayOf<Item>, [Item])]()
    var next = 600
    var depths = Set<Int>()
    for step in 0..<6_000 {
      let base = array.storage?.fields.pointee.base
      depths.insert(base == nil ? 1 : base?.isLayered == true ? 3 : 2)
      let choice = Int.random(in: 0..<40, using: &random)
      // What brings all elements together comes seldom, or no end would grow; and not before one has been stood
      // on twice, since an array with a hole is copied as a whole from then on.
      let isOfAll = [30, 31, 33, 34].contains(choice)
      let isTooEarly = !depths.contains(3) || !step.isMultiple(of: 40)
      switch isAtTheEnds && isOfAll && isTooEarly ? 0 : choice {
      case 0..<12:
        let item = Item(id: next)
        next += 1
        array.append(item)
        model.append(item)
      case 12..<20: #expect(array.removeFirst() == model.removeFirst())
      case 20..<30:
        let index = max(0, model.count - 1 - Int.random(in: 0..<20, using: &random))
        array.modify(id: model[index].id) { $0.name = "\(step)" }
        model[index].name = "\(step)"
      case 30: #expect(array.removeLast() == model.removeLast())
      case 31:
        let index = Int.random(in: model.indices, using: &random)
        #expect(array.remove(id: model[index].id) == model.remove(at: index))
      case 32:
        // One that was removed, or is there.
        let item = Item(id: Int.random(in: 0..<next, using: &random), name: "again")
        if array.append(item).inserted { model.append(item) }
      case 33:
        let index = Int.random(in: model.indices, using: &random)
        array[index].name = "by index"
        model[index].name = "by index"
      case 34: copies.removeAll()
      default:
        copies.append((array, model))
        if copies.count > 3 { copies.remove(at: Int.random(in: 0..<3, using: &random)) }
      }
      guard step % 50 == 0 else { continue }
      #expect(array.elements == model, "seed \(seed), step \(step)")
      let isFound = model.indices.allSatisfy {
        array.index(id: model[$0].id) == $0 && array[$0] == model[$0]
      }
      #expect(isFound, "seed \(seed), step \(step)")
      guard step % 1000 == 0 else { continue }
      let isEach = (0..<next).allSatisfy { id in
        array.contains(id: id) == model.contains { $0.id == id }
      }
      #expect(isEach, "seed \(seed), step \(step)")
    }
    for (copy, model) in copies { #expect(copy.elements == model, "seed \(seed)") }
    if isAtTheEnds { #expect(depths == [1, 2, 3], "seed \(seed)") }
  }
}
