import Query
import Testing

@Suite struct QueryPathableCollectionCollectionTests {
  private typealias Items = QueryPathableCollection<PathItem>

  private func makeItems(count: Int) -> Items {
    var generator = PathRandom(seed: UInt64(count))
    return Items((0..<count).map { PathItem(.random(using: &generator), $0) })
  }

  @Test(arguments: [0, 1, 2, 10, 1_000])
  func indicesAndIteratorAgree(count: Int) {
    let items = makeItems(count: count)
    let walked = Array(items)
    #expect(walked.count == items.count)
    #expect(items.indices.map { items[$0] } == walked)
    #expect(items.isEmpty == walked.isEmpty)
    #expect(items.first == walked.first)
    #expect(Set(walked.map(\.path)).count == walked.count)
    for item in walked { #expect(items[item.path] == item) }
  }

  @Test func indicesAreOrdered() {
    let items = makeItems(count: 100)
    let indices = Array(items.indices) + [items.endIndex]
    for (lhs, rhs) in zip(indices, indices.dropFirst()) {
      #expect(lhs < rhs)
      #expect(lhs != rhs)
      #expect(items.index(after: lhs) == rhs)
      #expect(items.index(after: lhs).hashValue == rhs.hashValue)
      #expect(items.distance(from: rhs, to: lhs) == -1)
    }
    #expect(Set(indices).count == indices.count)
    #expect(items.distance(from: items.startIndex, to: items.endIndex) == items.count)
    #expect(items.index(items.startIndex, offsetBy: items.count) == items.endIndex)
  }

  @Test func startIsTheEndOfAnEmptyCollection() {
    #expect(Items().startIndex == Items().endIndex)
    var iterator = Items().makeIterator()
    #expect(iterator.next() == nil)
  }

  @Test func theIteratorStaysAtTheEnd() {
    var iterator = Items([PathItem(["a"])]).makeIterator()
    #expect(iterator.next() != nil)
    #expect(iterator.next() == nil)
    #expect(iterator.next() == nil)
  }

  @Test func slicesHoldTheirElements() {
    let items = makeItems(count: 50)
    let all = Array(items)
    #expect(Array(items.dropFirst(10).prefix(5)) == Array(all[10..<15]))
    #expect(items.firstIndex { $0 == all[20] }.map { items[$0] } == all[20])
  }

  @Test func anEditDoesNotDisturbAWalk() {
    var items = makeItems(count: 500)
    let before = Array(items)
    var walked = [PathItem]()
    for item in items {
      walked.append(item)
      items.removeValue(forPath: item.path)
      items.update(PathItem(item.path.appending("new")))
    }
    #expect(walked == before)
    #expect(items.count == before.count)
  }

  @Test func aWalkOutlivesItsCollection() {
    let live = PathCounter()
    var iterator = QueryPathableCollection(
      (0..<100).map { CountedPathItem([$0 % 10, $0], in: live) }
    ).makeIterator()
    #expect(live.value == 100)
    var number = 0
    while iterator.next() != nil { number += 1 }
    #expect(number == 100)
  }
}
