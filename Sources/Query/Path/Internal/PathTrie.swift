/// A persistent map from paths to elements: the element at the empty path, and the nodes of all
/// longer paths below it.
///
/// A copy shares all nodes. An edit changes in place the nodes on the way to its path that only
/// this copy holds, copies those that others hold too, and leaves the rest shared, so it costs
/// O(*d* log *n*) in the length of the path and the number of nodes at each of its levels.
///
/// No node is without an element in or below it, and the shape depends on the paths alone, not on
/// the order of the edits; ``isEqual(to:by:)`` relies on both.
@usableFromInline
package struct PathTrie<Element> {
  @usableFromInline
  package var element: Element?

  @usableFromInline
  package var children: TrieBranch<Element>?

  /// The number of elements, in and below.
  @usableFromInline
  package var count: Int

  @inlinable
  init() {
    self.init(element: nil, children: nil, count: 0)
  }

  @inlinable
  init(element: Element?, children: TrieBranch<Element>?, count: Int) {
    self.element = element
    self.children = children
    self.count = count
  }
}

extension PathTrie: Sendable where Element: Sendable {}

// MARK: - Looking up

extension PathTrie {
  /// The trie of the elements whose paths begin with a path, keyed by what follows it.
  @inlinable
  func subtrie(at path: QueryPath) -> PathTrie? {
    guard let last = path.elements.indices.last else { return self }
    return node(at: path, through: last)?.trie
  }

  /// The element at exactly a path.
  @inlinable
  func element(at path: QueryPath) -> Element? {
    guard let last = path.elements.indices.last else { return element }
    return node(at: path, through: last)?.trie.element
  }

  @inlinable
  func node(at path: QueryPath, through last: Int) -> TrieNode<Element>? {
    guard var node = children?.node(for: path.elements[0]) else { return nil }
    var depth = 0
    while depth < last {
      depth += 1
      guard let next = node.trie.children?.node(for: path.elements[depth]) else { return nil }
      node = next
    }
    return node
  }

  /// The trie of only those elements whose paths begin with a path, keyed by the whole of theirs.
  @inlinable
  func restricted(to path: QueryPath, depth: Int = 0) -> PathTrie {
    guard depth < path.elements.count else { return self }
    guard let node = children?.node(for: path.elements[depth]) else { return PathTrie() }
    let inner = node.trie.restricted(to: path, depth: depth + 1)
    if inner.count == 0 { return PathTrie() }
    if inner.count == count { return self }
    let isWhole = inner.count == node.trie.count
    let kept = isWhole ? node : TrieNode(key: node.key, hash: node.hash, trie: inner)
    return PathTrie(element: nil, children: TrieBranch(only: kept), count: inner.count)
  }
}

// MARK: - Editing

extension PathTrie {
  /// Puts an element at a path, replacing the one that is there.
  ///
  /// - Returns: The element that was there.
  @inlinable
  @discardableResult
  mutating func update(_ element: Element, at path: QueryPath, depth: Int = 0) -> Element? {
    let replaced: Element?
    if depth < path.elements.count {
      let hash = path.elements[depth].rawHash
      replaced = uniqueChildren().update(element, at: path, depth: depth, hash: hash, shift: 0)
    } else {
      replaced = self.element
      self.element = element
    }
    if replaced == nil { count += 1 }
    return replaced
  }

  /// Removes the element at exactly a path.
  @inlinable
  @discardableResult
  mutating func removeElement(at path: QueryPath) -> Element? {
    var hashes = [UInt]()
    guard let found = descend(path, recording: &hashes), let element = found.element else {
      return nil
    }
    remove(TrieRemoval(path: path, hashes: hashes, isWhole: false, count: 1), depth: 0)
    return element
  }

  /// Removes the elements whose paths begin with a path.
  @inlinable
  mutating func removeSubtrie(at path: QueryPath) {
    var hashes = [UInt]()
    guard let found = descend(path, recording: &hashes) else { return }
    let removal = TrieRemoval(path: path, hashes: hashes, isWhole: true, count: found.count)
    remove(removal, depth: 0)
  }

  /// Finds the trie at a path, and notes the hashes of its elements, so that the removal that
  /// follows computes none again. Looking first keeps an edit that removes nothing from copying.
  @inlinable
  func descend(_ path: QueryPath, recording hashes: inout [UInt]) -> PathTrie? {
    hashes.reserveCapacity(path.elements.count)
    var trie = self
    for key in path.elements {
      let hash = key.rawHash
      guard let node = trie.children?.node(for: key, hash: hash) else { return nil }
      hashes.append(hash)
      trie = node.trie
    }
    return trie
  }

  @inlinable
  mutating func remove(_ removal: TrieRemoval, depth: Int) {
    if removal.count == count {
      self = PathTrie()
      return
    }
    count -= removal.count
    if depth < removal.hashes.count {
      let children = uniqueChildren()
      children.remove(removal, depth: depth, shift: 0)
      if children.isEmpty { self.children = nil }
    } else {
      element = nil
    }
  }

  /// The children, made and copied as needed so that they may be changed in place.
  @inlinable
  mutating func uniqueChildren() -> TrieBranch<Element> {
    if isKnownUniquelyReferenced(&children), let children { return children }
    let fresh = children.map { TrieBranch(copying: $0) } ?? TrieBranch()
    children = fresh
    return fresh
  }
}

/// What to remove from a trie that is known to hold it.
@usableFromInline
package struct TrieRemoval {
  @usableFromInline
  let path: QueryPath

  /// The hash of each element of the path.
  @usableFromInline
  let hashes: [UInt]

  /// Whether all that is below the path goes too.
  @usableFromInline
  let isWhole: Bool

  /// The number of elements that go.
  @usableFromInline
  let count: Int

  @inlinable
  init(path: QueryPath, hashes: [UInt], isWhole: Bool, count: Int) {
    self.path = path
    self.hashes = hashes
    self.isWhole = isWhole
    self.count = count
  }
}
