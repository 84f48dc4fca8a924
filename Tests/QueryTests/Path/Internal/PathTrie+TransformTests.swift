import Query
import Testing

@Suite struct PathTrieTransformTests {
  private typealias Items = QueryPathableCollection<PathItem>

  private struct Wrapped: QueryPathable, Equatable {
    let item: PathItem
    var path: QueryPath { item.path }
  }

  @Test(arguments: 1...10)
  func keepsPathsAndDropsWhatBecomesNil(seed: UInt64) {
    var generator = PathRandom(seed: seed)
    let items = Items((0..<500).map { PathItem(.random(using: &generator), $0) })
    let share = Int.random(in: 1...10, using: &generator)
    let wrapped = items.compactMapElements { item in
      item.value.isMultiple(of: share) ? Wrapped(item: item) : nil
    }
    let kept = items.filter { $0.value.isMultiple(of: share) }
    #expect(wrapped == QueryPathableCollection(kept.map { Wrapped(item: $0) }))
    #expect(wrapped.count == kept.count)
    for item in kept { #expect(wrapped[item.path]?.item == item) }
    #expect(shapeFault(in: wrapped.trie) == nil)
  }

  @Test func nothingIsLeftOfNothing() {
    let items = Items([PathItem([]), PathItem(["a", 1])])
    let none = items.compactMapElements { _ in Wrapped?.none }
    #expect(none.isEmpty)
    #expect(none.trie.children == nil)
  }

  @Test func noPathIsHashed() {
    let hashes = PathCounter()
    let items = Items((0..<100).map { PathItem([CountedHash(id: $0, hashes: hashes)]) })
    #expect(hashes.value == 100)
    let wrapped = items.compactMapElements { Wrapped(item: $0) }
    #expect(wrapped.count == 100)
    var copy = items
    copy.removeAll { _ in true }
    #expect(hashes.value == 100)
  }

  @Test func anElementIsHashedWhenItIsMadeAndByNoEdit() {
    let hashes = PathCounter()
    let path: QueryPath = [
      CountedHash(id: 1, hashes: hashes), CountedHash(id: 2, hashes: hashes),
    ]
    #expect(hashes.value == 2)
    var items = Items([PathItem(path)])
    #expect(items[path] != nil)
    items.removeValue(forPath: path)
    items.update(PathItem(path))
    items.removeAll(matching: path)
    #expect(items.isEmpty)
    #expect(hashes.value == 2)
  }

  @Test func filteringSharesWhatIsKeptWhole() {
    var items = Items((0..<1_000).map { PathItem([$0 % 10, $0], $0) })
    let before = nodeIdentities(in: items.trie)
    items.removeAll { $0.value % 10 == 3 }
    #expect(items.count == 900)
    #expect(nodeIdentities(in: items.trie).isSubset(of: before))
    #expect(shapeFault(in: items.trie) == nil)
  }

  private struct CountedHash: Hashable, Sendable {
    let id: Int
    // Used from one test, on one thread at a time.
    nonisolated(unsafe) let hashes: PathCounter

    static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.id == rhs.id
    }

    func hash(into hasher: inout Hasher) {
      hashes.value += 1
      hasher.combine(id)
    }
  }
}
