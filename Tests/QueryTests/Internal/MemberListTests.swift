import TestSupport
import Testing

@testable import Query

@Suite struct MemberListTests {
  // @unchecked: as its superclass; it has a constant besides.
  private final class Item: ListMember, @unchecked Sendable {
    let number: Int

    init(_ number: Int) { self.number = number }
  }

  private func numbers(of list: MemberList<Item>) -> [Int] {
    list.all.map(\.number)
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
      #expect(list.members.count == model.count)
      #expect(list.isEmpty == model.isEmpty)
      #expect(self.numbers(of: list) == model.map(\.number))
      #expect(list.members.places.count <= 2 * model.count + 8)
    }
  }

  @Test func whoHasLeftLeavesNoMore() {
    var list = MemberList<Item>()
    let items = (0..<3).map { Item($0) }
    for item in items { list.append(item) }
    list.remove(items[1])
    list.remove(items[1])
    list.remove(Item(7))
    #expect(list.members.count == 2)
    list.append(items[1])
    #expect(self.numbers(of: list) == [0, 2, 1])
  }

  @Test(arguments: [true, false])
  func allLeaveInLinearTime(isInOrder: Bool) {
    var list = MemberList<Item>()
    let items = (0..<1_000).map { Item($0) }
    for item in items { list.append(item) }
    var (moves, places) = (0, items.map(\.place))
    for item in isInOrder ? items : items.reversed() {
      list.remove(item)
      for (index, item) in items.enumerated() where item.place != places[index] {
        (moves, places[index]) = (moves + 1, item.place)
      }
    }
    #expect(list.isEmpty)
    #expect(list.members.places.isEmpty)
    #expect(moves <= 1_000)
  }
}
