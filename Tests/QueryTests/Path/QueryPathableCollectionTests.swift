import Query
import Testing

@Suite struct QueryPathableCollectionTests {
  private typealias Items = QueryPathableCollection<PathItem>

  private let items: Items = [
    PathItem([], 0), PathItem(["a"], 1), PathItem(["a", 1], 2), PathItem(["a", 2], 3),
    PathItem(["b", 1], 4), PathItem(["b", 1, "c"], 5),
  ]

  // MARK: - Building

  @Test func emptyCollection() {
    let items = Items()
    #expect(items.isEmpty)
    #expect(items.count == 0)
    #expect(items[[]] == nil)
    #expect(items.paths == [])
    #expect(items.collection(matching: []).isEmpty)
    #expect(items == [])
  }

  @Test func laterDuplicatesReplaceEarlier() {
    let items = Items([PathItem(["a"], 1), PathItem(["b"], 2), PathItem(["a"], 3)])
    #expect(items.count == 2)
    #expect(items[["a"]] == PathItem(["a"], 3))
    let literal: Items = [PathItem([1], 1), PathItem([1.0], 2)]
    #expect(Array(literal) == [PathItem([1.0], 2)])
  }

  // MARK: - Looking up

  @Test func lookUpIsExact() {
    #expect(items[["a"]]?.value == 1)
    #expect(items[["a", 1]]?.value == 2)
    #expect(items[["a", 1.0]]?.value == 2)
    #expect(items[[]]?.value == 0)
    #expect(items[["b"]] == nil)
    #expect(items[["a", 1, 1]] == nil)
    #expect(items[["c"]] == nil)
  }

  @Test func pathsAreThoseOfTheElements() {
    #expect(items.paths == [[], ["a"], ["a", 1], ["a", 2], ["b", 1], ["b", 1, "c"]])
  }

  @Test func matchingKeepsTheElementsOfThePrefixUnderTheirWholePaths() {
    let a = items.collection(matching: ["a"])
    #expect(a.paths == [["a"], ["a", 1], ["a", 2]])
    #expect(a.count == 3)
    #expect(a[["a", 1]]?.value == 2)
    #expect(a[[]] == nil)
    #expect(a[["b", 1]] == nil)
    #expect(items.collection(matching: ["b"]).paths == [["b", 1], ["b", 1, "c"]])
    #expect(items.collection(matching: ["b", 1, "c"]).paths == [["b", 1, "c"]])
    #expect(items.collection(matching: ["b", 1, "c", 1]).isEmpty)
    #expect(items.collection(matching: ["c"]).isEmpty)
    #expect(items.collection(matching: []) == items)
  }

  @Test func matchingIsACopy() {
    var a = items.collection(matching: ["a"])
    a.update(PathItem(["a", 3]))
    a.removeValue(forPath: ["a", 1])
    a.update(PathItem(["z"]))
    #expect(a.paths == [["a"], ["a", 2], ["a", 3], ["z"]])
    #expect(items.count == 6)
    #expect(items[["a", 1]]?.value == 2)
    #expect(items[["a", 3]] == nil)
  }

  // MARK: - Editing

  @Test func updateInsertsAndReplaces() {
    var copy = items
    copy.update(PathItem(["a", 1], 7))
    #expect(copy.count == 6)
    #expect(copy[["a", 1]]?.value == 7)
    copy.update(PathItem(["b"], 8))
    #expect(copy.count == 7)
    #expect(copy[["b"]]?.value == 8)
    #expect(items[["a", 1]]?.value == 2)
  }

  @Test func removeValueIsExact() {
    var copy = items
    #expect(copy.removeValue(forPath: ["a"])?.value == 1)
    #expect(copy.removeValue(forPath: ["a"]) == nil)
    #expect(copy.removeValue(forPath: ["b"]) == nil)
    #expect(copy.removeValue(forPath: ["c", 1]) == nil)
    #expect(copy.removeValue(forPath: [])?.value == 0)
    #expect(copy.paths == [["a", 1], ["a", 2], ["b", 1], ["b", 1, "c"]])
    #expect(items.count == 6)
  }

  @Test func removeAllMatchingRemovesThePrefix() {
    var copy = items
    copy.removeAll(matching: ["c"])
    copy.removeAll(matching: ["b", 2])
    #expect(copy == items)
    copy.removeAll(matching: ["b"])
    #expect(copy.paths == [[], ["a"], ["a", 1], ["a", 2]])
    copy.removeAll(matching: ["a", 1])
    #expect(copy.paths == [[], ["a"], ["a", 2]])
    copy.removeAll(matching: [])
    #expect(copy.isEmpty)
    #expect(copy == Items())
  }

  @Test func removeAllWhere() {
    var copy = items
    copy.removeAll { $0.value.isMultiple(of: 2) }
    #expect(copy.paths == [["a"], ["a", 2], ["b", 1, "c"]])
    #expect(copy.count == 3)
    copy.removeAll { _ in true }
    #expect(copy.isEmpty)
  }

  @Test func removeAllEmpties() {
    var copy = items
    copy.removeAll()
    #expect(copy.isEmpty)
    copy = items
    copy.removeAll(keepingCapacity: true)
    #expect(copy.isEmpty)
    #expect(Array(copy) == [])
  }

  @Test func removeAtAnIndexReturnsItsElement() throws {
    var copy = items
    var removed = [PathItem]()
    while let index = copy.indices.randomElement() {
      let expected = copy[index]
      removed.append(copy.remove(at: index))
      #expect(removed.last == expected)
      #expect(copy[expected.path] == nil)
    }
    #expect(Set(removed) == Set(items))
  }

  @Test func reserveCapacityChangesNothing() {
    var copy = items
    copy.reserveCapacity(1_000)
    #expect(copy == items)
  }

  @Test func elementsAreKeptUnderThePathThatTheyHadWhenPutIn() {
    let movable = Movable(path: ["a"])
    let items = QueryPathableCollection([movable])
    movable.path = ["b"]
    #expect(items[["a"]] === movable)
    #expect(items[["b"]] == nil)
  }

  @Test func longPaths() {
    let path = QueryPath(elements: (0..<2_000).map { QueryPath.Element($0) })
    var items = Items([PathItem(path, 1), PathItem(path.appending("x"), 2), PathItem(["y"], 3)])
    #expect(items.collection(matching: path).count == 2)
    #expect(items.removeValue(forPath: path)?.value == 1)
    items.removeAll(matching: [0])
    #expect(items == [PathItem(["y"], 3)])
  }

  // MARK: - Equality

  @Test func equalityAndHashDoNotDependOnTheOrder() {
    var generator = PathRandom(seed: 1)
    var all = Array(Items((0..<300).map { PathItem(.random(using: &generator), $0) }))
    let first = Items(all)
    for _ in 0..<10 {
      all.shuffle(using: &generator)
      var second = Items()
      for item in all {
        second.update(PathItem(item.path.appending(CollidingStep(item.value)), 0))
        second.update(PathItem(item.path, -1))
      }
      for item in all {
        second.removeAll(matching: item.path.appending(CollidingStep(item.value)))
        second.update(item)
      }
      #expect(first == second)
      #expect(first.hashValue == second.hashValue)
      second.update(PathItem(all[0].path, -1))
      #expect(first != second)
      second.removeValue(forPath: all[0].path)
      #expect(first != second)
      second.update(PathItem(["none of the others"], all[0].value))
      #expect(first != second)
    }
  }

  @Test func equalityTellsTheElementOfTheEmptyPathFromNone() {
    #expect(Items([PathItem([])]) != Items([PathItem(["a"])]))
    #expect(Items([PathItem([])]) != Items())
    #expect(Items([PathItem([], 1)]) != Items([PathItem([], 2)]))
  }

  @Test func conditionalConformances() {
    func requireHashable(_: (some Hashable).Type) {}
    func requireSendable(_: (some Sendable).Type) {}
    requireHashable(Items.self)
    requireSendable(Items.self)
    requireSendable(Items.Index.self)
    requireSendable(Items.Iterator.self)
    requireHashable(QueryPathableCollection<Movable>.Index.self)
  }

  private final class Movable: QueryPathable {
    var path: QueryPath

    init(path: QueryPath) {
      self.path = path
    }
  }
}
