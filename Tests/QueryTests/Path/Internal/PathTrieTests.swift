import Query
import Testing

@Suite struct PathTrieTests {
  private typealias Items = QueryPathableCollection<PathItem>

  // MARK: - Against a dictionary

  @Test(arguments: 1...8)
  func randomEditsAgreeWithADictionary(seed: UInt64) {
    var generator = PathRandom(seed: seed)
    var items = Items()
    var model = [QueryPath: PathItem]()
    var copies = [(Items, [QueryPath: PathItem])]()
    for step in 0..<1_500 {
      let path = QueryPath.random(using: &generator)
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<60:
        items.update(PathItem(path, step))
        model[path] = PathItem(path, step)
      case 60..<92:
        #expect(items.removeValue(forPath: path) == model.removeValue(forKey: path))
      case 92..<95 where !path.isEmpty:
        items.removeAll(matching: path)
        model = model.filter { !path.isPrefix(of: $0.key) }
      case 95:
        let rest = Int.random(in: 0..<10, using: &generator)
        items.removeAll { $0.value % 10 == rest }
        model = model.filter { $0.value.value % 10 != rest }
      case 96 where !items.isEmpty:
        let offset = Int.random(in: 0..<items.count, using: &generator)
        let removed = items.remove(at: items.index(items.startIndex, offsetBy: offset))
        #expect(model.removeValue(forKey: removed.path) == removed)
      case 97:
        copies.append((items, model))
      default:
        let matching = items.collection(matching: path)
        expect(matching, holds: model.filter { path.isPrefix(of: $0.key) })
      }
      #expect(items.count == model.count)
      #expect(items[path] == model[path])
      if step.isMultiple(of: 100) { expect(items, holds: model) }
    }
    expect(items, holds: model)
    for (items, model) in copies { expect(items, holds: model) }
  }

  private func expect(_ items: Items, holds model: [QueryPath: PathItem]) {
    #expect(Dictionary(uniqueKeysWithValues: items.map { ($0.path, $0) }) == model)
    #expect(items == Items(model.values))
    #expect(items.hashValue == Items(model.values).hashValue)
    #expect(shapeFault(in: items.trie) == nil)
  }

  // MARK: - Sharing

  @Test func whatNoCopySharesIsEditedInPlace() throws {
    var items = Items((0..<1_000).map { PathItem([$0 % 10, $0]) })
    let children = try ObjectIdentifier(#require(items.trie.children))
    let before = nodeIdentities(in: items.trie)
    items.update(PathItem([3, 13], 1))
    items.update(PathItem([3, "new"], 1))
    items.removeValue(forPath: [4, 14])
    #expect(try ObjectIdentifier(#require(items.trie.children)) == children)
    let after = nodeIdentities(in: items.trie)
    #expect(before.subtracting(after).count == 1)
    #expect(after.subtracting(before).count == 1)
  }

  @Test func anEditOfACopySharesTheRest() {
    let items = Items((0..<10_000).map { PathItem([$0 % 10, $0]) })
    var copy = items
    copy.update(PathItem([3, 13], 1))
    let fresh = nodeIdentities(in: copy.trie).subtracting(nodeIdentities(in: items.trie))
    #expect(fresh.count == 2)
  }

  @Test func anEditThatRemovesNothingCopiesNothing() {
    let items = Items((0..<100).map { PathItem([$0 % 10, $0]) })
    var copy = items
    copy.removeValue(forPath: [3])
    copy.removeValue(forPath: [3, 4])
    copy.removeAll(matching: ["none"])
    copy.removeAll { _ in false }
    #expect(copy.trie.children === items.trie.children)
  }

  @Test func matchingSharesItsNodes() {
    let items = Items((0..<1_000).map { PathItem([$0 % 10, $0]) })
    let part = items.collection(matching: [3])
    #expect(nodeIdentities(in: part.trie).isSubset(of: nodeIdentities(in: items.trie)))
  }

  @Test func copiesAreEditedConcurrently() async {
    let items = Items((0..<500).map { PathItem([$0 % 10, $0], $0) })
    let counts = await withTaskGroup { group in
      for share in 1...8 {
        group.addTask {
          var copy = items
          for item in items where item.value.isMultiple(of: share) {
            copy.removeValue(forPath: item.path)
            copy.update(PathItem([share, "new", item.value]))
          }
          copy.removeAll { $0.path.count == 2 }
          return copy.count
        }
      }
      return await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(counts == Set((1...8).map { (500 + $0 - 1) / $0 }))
    #expect(items == Items((0..<500).map { PathItem([$0 % 10, $0], $0) }))
  }

  @Test func elementsAreReleased() {
    let live = PathCounter()
    do {
      var items = QueryPathableCollection<CountedPathItem>()
      for number in 0..<500 {
        items.update(CountedPathItem([number % 7, CollidingStep(number % 30), number], in: live))
      }
      #expect(live.value == 500)
      for number in 0..<500 {
        items.update(CountedPathItem([number % 7, CollidingStep(number % 30), number], in: live))
      }
      #expect(live.value == 500)
      let copy = items
      items.removeAll(matching: [3])
      #expect(live.value == 500)
      #expect(copy.count == 500)
      items = copy
      _ = consume copy
      items.removeAll(matching: [3])
      #expect(live.value == items.count)
      items.removeAll { $0.path.count == 3 }
      #expect(live.value == 0)
      items.update(CountedPathItem([], in: live))
      #expect(live.value == 1)
    }
    #expect(live.value == 0)
  }
}
