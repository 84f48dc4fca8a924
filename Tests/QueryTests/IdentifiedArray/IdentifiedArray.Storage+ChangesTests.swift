import Testing

@testable import Query

@Suite("IdentifiedArray storage changes")
struct IdentifiedArrayStorageChangesTests {
  @Test func holesAreClosedWhenHalfOfThePlacesAreHoles() throws {
    var array = items(0..<40)
    for id in 1...20 { array.remove(id: id) }
    #expect(try #require(array.storage).span == 40)
    array.remove(id: 21)
    #expect(try #require(array.storage).span == 19)
    #expect(array.ids == [0] + (22..<40))
    #expect(array.ids.indices.allSatisfy { array.index(id: array.ids[$0]) == $0 })
    #expect(try #require(array.storage).fields.pointee.holes.count(in: 0..<64) == 0)
  }

  @Test func holesAtTheEndsAreLetGo() throws {
    var array = items(0..<20)
    for id in [1, 2, 18, 17, 10] { array.remove(id: id) }
    #expect(try #require(array.storage).span == 20)
    array.removeFirst()
    #expect(try #require(array.storage).span == 17)
    #expect(array.first?.id == 3)
    array.removeLast()
    #expect(try #require(array.storage).span == 14)
    #expect(array.last?.id == 16)
    #expect(array.ids == Array(3..<10) + Array(11..<17))
  }

  @Test func aFullStorageWithManyHolesIsCompactedInsteadOfGrowing() throws {
    var array = items(0..<32)
    let storage = array.storage.map(ObjectIdentifier.init)
    for id in 4..<12 { array.remove(id: id) }
    array.append(Item(id: 32))
    #expect(array.storage.map(ObjectIdentifier.init) == storage)
    #expect(try #require(array.storage).span == 25)
    #expect(array.ids == Array(0..<4) + Array(12...32))
  }

  @Test(arguments: [0x5eed, 0xca5e, 0xf00d, UInt64.random(in: 0...UInt64.max)])
  func randomWalkBesideAnArray(seed: UInt64) throws {
    print("IdentifiedArray random walk, seed \(seed)")
    var random = SplitMix(state: seed)
    var walk = Walk()
    // The limit on the count goes up and down, so that every size is passed both ways.
    for limit in [3, 12, 40, 6, 300, 20, 2, 100, 0] {
      for _ in 0..<700 { walk.step(limit: limit, using: &random) }
      #expect(walk.array.ids == walk.model.map(\.id), "seed \(seed)")
      #expect(walk.array.elements == walk.model, "seed \(seed)")
      #expect(walk.agrees, "seed \(seed)")
    }
    for (copy, model) in walk.copies { #expect(copy.elements == model, "seed \(seed)") }
    #expect(walk.array.count == walk.model.count)
    #expect(walk.disagreements == [], "seed \(seed)")
  }
}

// MARK: - Helpers

private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

/// The same operations on an `IdentifiedArray` and on an `Array`.
private struct Walk {
  var array = IdentifiedArrayOf<Item>()
  var model: [Item] = []
  var copies: [(IdentifiedArrayOf<Item>, [Item])] = []
  var disagreements: [String] = []
  var stepCount = 0

  /// Whether every way of reading gives what the model gives.
  var agrees: Bool {
    array.count == model.count && array.first == model.first && array.last == model.last
      && model.indices.allSatisfy {
        array[$0] == model[$0] && array.index(id: model[$0].id) == $0
          && array[id: model[$0].id] == model[$0]
      }
  }

  mutating func step(limit: Int, using random: inout SplitMix) {
    stepCount += 1
    let growing = model.count < limit && Int.random(in: 0..<8, using: &random) > 0
    let name = growing ? grow(using: &random) : shrink(limit: limit, using: &random)
    if array.count != model.count || stepCount % 7 == 0 && !agrees {
      disagreements.append("\(name) at step \(stepCount)")
    }
    if stepCount % 97 == 0 { copies.append((array, model)) }
    if copies.count > 3 { copies.removeFirst() }
  }

  private mutating func grow(using random: inout SplitMix) -> String {
    let item = Item(id: Int.random(in: 0..<1_000, using: &random), name: "\(stepCount)")
    let present = model.firstIndex { $0.id == item.id }
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      check(array.append(item) == (present == nil, present ?? model.count), "append")
      if present == nil { model.append(item) }
      return "append"
    case 1:
      check(array.insert(item, at: 0) == (present == nil, present ?? 0), "insert at 0")
      if present == nil { model.insert(item, at: 0) }
      return "insert at 0"
    case 2:
      let index = Int.random(in: 0...model.count, using: &random)
      check(array.insert(item, at: index) == (present == nil, present ?? index), "insert")
      if present == nil { model.insert(item, at: index) }
      return "insert at \(index)"
    case 3:
      array[id: item.id] = item
      if let present { model[present] = item } else { model.append(item) }
      return "set by id"
    default:
      array.append(contentsOf: [item, item])
      if present == nil { model.append(item) }
      return "append contents"
    }
  }

  private mutating func shrink(limit: Int, using random: inout SplitMix) -> String {
    guard !model.isEmpty else { return "nothing" }
    let index = Int.random(in: model.indices, using: &random)
    let id = model[index].id
    switch Int.random(in: 0..<9, using: &random) {
    case 0, 1: check(array.remove(id: id) == model.remove(at: index), "remove id")
    case 2: check(array.remove(at: index) == model.remove(at: index), "remove at")
    case 3: check(array.removeFirst() == model.removeFirst(), "remove first")
    case 4: check(array.removeLast() == model.removeLast(), "remove last")
    case 5:
      array[id: id] = nil
      model.remove(at: index)
    case 6:
      array[id: id]?.name = "by id"
      model[index].name = "by id"
    case 7:
      let other = Int.random(in: model.indices, using: &random)
      array.swapAt(index, other)
      model.swapAt(index, other)
    default:
      guard model.count > limit, Int.random(in: 0..<20, using: &random) == 0 else { break }
      array.removeAll { $0.id % 3 == 0 }
      model.removeAll { $0.id % 3 == 0 }
    }
    return "shrink"
  }

  private mutating func check(_ holds: Bool, _ name: String) {
    if !holds { disagreements.append("\(name) at step \(stepCount)") }
  }
}
