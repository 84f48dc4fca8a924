// MARK: - Transforming

extension PathTrie {
  /// The trie of a closure's result for each element, each at the path of the element.
  @inlinable
  func compactMapped<T>(_ transform: (Element) -> T?) -> PathTrie<T> {
    let element = element.flatMap(transform)
    let children = children?.compactMapped(transform)
    return PathTrie<T>(element: element, children: children)
  }

  /// The trie of only those elements that a closure accepts; of all that it accepts, the nodes are
  /// shared.
  @inlinable
  func filtered(_ isIncluded: (Element) -> Bool) -> PathTrie {
    let element = element.flatMap { isIncluded($0) ? $0 : nil }
    return PathTrie(element: element, children: children?.filtered(isIncluded))
  }

  /// Makes a trie whose number of elements is the sum of its children's.
  @inlinable
  init(element: Element?, children: TrieBranch<Element>?) {
    let own = element == nil ? 0 : 1
    self.init(element: element, children: children, count: own + (children?.sum() ?? 0))
  }
}

extension TrieNode {
  @inlinable
  func compactMapped<T>(_ transform: (Element) -> T?) -> TrieNode<T>? {
    let trie = trie.compactMapped(transform)
    return trie.count == 0 ? nil : TrieNode<T>(key: key, hash: hash, trie: trie)
  }

  @inlinable
  func filtered(_ isIncluded: (Element) -> Bool) -> TrieNode? {
    let trie = trie.filtered(isIncluded)
    if trie.count == self.trie.count { return self }
    return trie.count == 0 ? nil : TrieNode(key: key, hash: hash, trie: trie)
  }
}

extension TrieBranch {
  @inlinable
  func sum() -> Int {
    nodes.reduce(0) { $0 + $1.trie.count } + branches.reduce(0) { $0 + $1.sum() }
  }

  @inlinable
  func compactMapped<T>(_ transform: (Element) -> T?) -> TrieBranch<T>? {
    rebuilt(node: { $0.compactMapped(transform) }, branch: { $0.compactMapped(transform) })
  }

  @inlinable
  func filtered(_ isIncluded: (Element) -> Bool) -> TrieBranch? {
    let new = rebuilt(node: { $0.filtered(isIncluded) }, branch: { $0.filtered(isIncluded) })
    guard let new else { return nil }
    let isSame =
      new.nodes.elementsEqual(nodes, by: ===) && new.branches.elementsEqual(branches, by: ===)
    return isSame ? self : new
  }

  /// The branch that results from applying the closures to each node and each branch below it, in
  /// its canonical shape, or nil if nothing is left.
  @inlinable
  func rebuilt<T>(
    node makeNode: (TrieNode<Element>) -> TrieNode<T>?,
    branch makeBranch: (TrieBranch) -> TrieBranch<T>?
  ) -> TrieBranch<T>? {
    let new = TrieBranch<T>()
    if isList {
      new.nodes = ContiguousArray(nodes.compactMap(makeNode))
      return new.isEmpty ? nil : new
    }
    new.nodes.reserveCapacity(nodes.count)
    new.branches.reserveCapacity(branches.count)
    var places = nodeMap | branchMap
    while places != 0 {
      let bit = places & (~places &+ 1)
      places ^= bit
      if nodeMap & bit != 0 {
        new.appendNode(makeNode(nodes[Self.index(of: bit, in: nodeMap)]), bit: bit)
      } else if let branch = makeBranch(branches[Self.index(of: bit, in: branchMap)]) {
        new.appendBranch(branch, bit: bit)
      }
    }
    return new.isEmpty ? nil : new
  }

  @inlinable
  func appendNode(_ node: TrieNode<Element>?, bit: UInt32) {
    guard let node else { return }
    nodes.append(node)
    nodeMap |= bit
  }

  @inlinable
  func appendBranch(_ branch: TrieBranch, bit: UInt32) {
    if let node = branch.onlyNode {
      appendNode(node, bit: bit)
    } else {
      branches.append(branch)
      branchMap |= bit
    }
  }
}
