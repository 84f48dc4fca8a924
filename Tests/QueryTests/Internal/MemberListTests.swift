import TestSupport
import Testing

@testable import Query

@Suite struct MemberListTests {
  private final class Item: ListMember {
    let number: Int
    /// How often the list has moved it.
    var moves = -1
    var place = 0 { didSet { self.moves += 1 } }

    init(_ number: Int) { self.number = number }
  }

  private func numbers(of list: MemberList<Item>) -> [Int] {
    list.places.compactMap { $0?.number }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func itKeepsTheOrderWhoeverLeaves(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var (list, model) = (MemberList<Item>(), [Item]())
    for number in 0..<500 {
      if Bool.random(using: &generator) || model.isEmpty {
        let item = Item(number)
        list.append(item)
        model.append(item)
      } else {
        let index = Int.random(in: model.indices, using: &generator)
        list.remove(model.remove(at: index))
      }
      #expect(list.count == model.count)
      #expect(list.isEmpty == model.isEmpty)
      #expect(self.numbers(of: list) == model.map(\.number))
      #expect(list.places.count <= 2 * model.count + 8)
    }
  }

  @Test func whoHasLeftLeavesNoMore() {
    var list = MemberList<Item>()
    let items = (0..<3).map { Item($0) }
    for item in items { list.append(item) }
    list.remove(items[1])
    list.remove(items[1])
    list.remove(Item(7))
    #expect(list.count == 2)
    list.append(items[1])
    #expect(self.numbers(of: list) == [0, 2, 1])
  }

  @Test(arguments: [true, false])
  func allLeaveInLinearTime(isInOrder: Bool) {
    var list = MemberList<Item>()
    let items = (0..<8_000).map { Item($0) }
    for item in items { list.append(item) }
    for item in isInOrder ? items : items.reversed() { list.remove(item) }
    #expect(list.isEmpty)
    #expect(list.places.isEmpty)
    #expect(items.reduce(0) { $0 + $1.moves } <= 8_000)
  }
}
