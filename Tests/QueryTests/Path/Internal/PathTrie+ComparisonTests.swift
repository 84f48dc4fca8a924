import Query
import Testing

@Suite struct PathTrieComparisonTests {
  private typealias Items = QueryPathableCollection<PathItem>

  private struct Difference: Equatable {
    var removed = [QueryPath: PathItem]()
    var added = [QueryPath: PathItem]()
  }

  private func difference(from old: Items, to new: Items) -> Difference {
    var result = Difference()
    old.forEachDifference(to: new) { path, old, new in
      #expect((old == nil) != (new == nil))
      #expect(result.removed[path] == nil)
      #expect(result.added[path] == nil)
      result.removed[path] = old
      result.added[path] = new
    }
    return result
  }

  @Test func equalCollectionsDoNotDiffer() {
    let items = Items([PathItem([]), PathItem(["a"]), PathItem(["a", 1])])
    #expect(difference(from: items, to: items) == Difference())
    #expect(difference(from: items, to: Items(Array(items))) == Difference())
    #expect(difference(from: Items(), to: Items()) == Difference())
  }

  @Test func reportsWhatWasRemovedAndAdded() {
    let old = Items([PathItem([], 1), PathItem(["a"], 2), PathItem(["a", 1], 3)])
    var new = old
    new.removeValue(forPath: [])
    new.removeValue(forPath: ["a"])
    new.update(PathItem(["b", 1], 4))
    let expected = Difference(
      removed: [[]: PathItem([], 1), ["a"]: PathItem(["a"], 2)],
      added: [["b", 1]: PathItem(["b", 1], 4)]
    )
    #expect(difference(from: old, to: new) == expected)
  }

  @Test func anElementReplacedUnderItsPathIsNoDifference() {
    let old = Items([PathItem(["a"], 1), PathItem(["b"], 1)])
    var new = old
    new.update(PathItem(["a"], 2))
    #expect(difference(from: old, to: new) == Difference())
  }

  @Test func whollyDifferentCollections() {
    let some = Items([PathItem([], 1), PathItem(["a"], 2)])
    #expect(difference(from: some, to: []).removed.count == 2)
    #expect(difference(from: [], to: some).added.count == 2)
  }

  @Test(arguments: 1...20)
  func randomEditsAreFound(seed: UInt64) {
    var generator = PathRandom(seed: seed)
    let old = Items((0..<500).map { PathItem(.random(using: &generator), $0) })
    var new = old
    for number in 0..<Int.random(in: 0..<200, using: &generator) {
      let path = QueryPath.random(using: &generator)
      if Bool.random(using: &generator) {
        new.update(PathItem(path, -number))
      } else if path.count > 1 {
        new.removeAll(matching: path)
      } else {
        new.removeValue(forPath: path)
      }
    }
    var expected = Difference()
    for item in old where new[item.path] == nil { expected.removed[item.path] = item }
    for item in new where old[item.path] == nil { expected.added[item.path] = item }
    #expect(difference(from: old, to: new) == expected)
    #expect(difference(from: old, to: Items(Array(new))) == expected)
  }

  @Test func sharedPartsAreNotLookedInto() {
    let reads = PathCounter()
    var items = QueryPathableCollection((0..<1_000).map { ReadItem([$0 % 10, $0], reads: reads) })
    let old = items
    items.removeValue(forPath: [3, 13])
    items.update(ReadItem([3, "new"], reads: reads))
    reads.value = 0
    old.forEachDifference(to: items) { _, _, _ in }
    #expect(reads.value == 2)
    reads.value = 0
    #expect(old != items)
    #expect(old == old)
    #expect(reads.value == 0)
  }

  @Test func keysOfSharedPartsAreNotCompared() {
    let comparisons = PathCounter()
    let items = QueryPathableCollection(
      (0..<1_000).map { PathItem([CountedKey(id: $0, comparisons: comparisons)]) }
    )
    var copy = items
    copy.update(PathItem(["new"]))
    comparisons.value = 0
    #expect(difference(from: items, to: copy).added.count == 1)
    #expect(comparisons.value == 0)
  }

  private final class ReadItem: QueryPathable, Equatable {
    private let fixed: QueryPath
    private let reads: PathCounter

    init(_ path: QueryPath, reads: PathCounter) {
      self.fixed = path
      self.reads = reads
    }

    var path: QueryPath {
      reads.value += 1
      return fixed
    }

    static func == (lhs: ReadItem, rhs: ReadItem) -> Bool {
      lhs.path == rhs.path
    }
  }

  private struct CountedKey: Hashable, Sendable {
    let id: Int
    // Used from one test, on one thread at a time.
    nonisolated(unsafe) let comparisons: PathCounter

    static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.comparisons.value += 1
      return lhs.id == rhs.id
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(id)
    }
  }
}
