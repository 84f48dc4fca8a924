/// The nodes of one level of a ``PathTrie`` whose hashes begin alike: a hash array mapped trie.
///
/// A branch divides its keys by the next five bits of their hashes. A slot that one key takes holds
/// the key's node, a slot that several take holds a branch. The two maps have a bit for each slot
/// and tell which slots hold nodes and which hold branches; the two arrays hold these in slot
/// order. If no bits of the hash are left, the keys' hashes are equal: such a branch has empty
/// maps, and is a list of nodes.
///
/// Accesses are not checked for overlap at run time, which would cost more than they do: all are made
/// through the trie, whose own accesses are checked.
@usableFromInline
package final class TrieBranch<Element> {
  @usableFromInline
  @exclusivity(unchecked)
  package var nodeMap: UInt32

  @usableFromInline
  @exclusivity(unchecked)
  package var branchMap: UInt32

  @usableFromInline
  @exclusivity(unchecked)
  package var nodes: ContiguousArray<TrieNode<Element>>

  @usableFromInline
  @exclusivity(unchecked)
  package var branches: ContiguousArray<TrieBranch>

  @inlinable
  init() {
    self.nodeMap = 0
    self.branchMap = 0
    self.nodes = []
    self.branches = []
  }

  @inlinable
  init(copying other: TrieBranch) {
    self.nodeMap = other.nodeMap
    self.branchMap = other.branchMap
    self.nodes = other.nodes
    self.branches = other.branches
  }

  /// Makes the children that are a single node.
  @inlinable
  convenience init(only node: TrieNode<Element>) {
    self.init()
    add(node, shift: 0)
  }
}

// Safe to share: a branch is changed only while a single reference to it exists.
extension TrieBranch: @unchecked Sendable where Element: Sendable {}

// MARK: - Places

extension TrieBranch {
  /// The number of bits of a hash that one branch divides by.
  @inlinable
  package static var bitsPerBranch: Int { 5 }

  /// Whether all bits of a hash are used up above a branch.
  @inlinable
  package static func isExhausted(_ shift: Int) -> Bool {
    shift >= UInt.bitWidth
  }

  /// The bit, in a map, of the place of a hash.
  @inlinable
  package static func bit(of hash: UInt, shift: Int) -> UInt32 {
    1 &<< UInt32(truncatingIfNeeded: (hash &>> UInt(bitPattern: shift)) & 31)
  }

  /// The index, in the array of a map, of the place of a bit.
  @inlinable
  package static func index(of bit: UInt32, in map: UInt32) -> Int {
    (map & (bit &- 1)).nonzeroBitCount
  }

  @inlinable
  package var isEmpty: Bool { nodes.isEmpty && branches.isEmpty }

  @inlinable
  package var isList: Bool { nodeMap == 0 && !nodes.isEmpty }

  /// The only node, if there is nothing else: it belongs in the branch above.
  @inlinable
  package var onlyNode: TrieNode<Element>? {
    nodes.count == 1 && branches.isEmpty ? nodes[0] : nil
  }
}

// MARK: - Looking up

extension TrieBranch {
  @inlinable
  func node(for key: QueryPath.Element) -> TrieNode<Element>? {
    node(for: key, hash: key.rawHash)
  }

  @inlinable
  func node(for key: QueryPath.Element, hash: UInt) -> TrieNode<Element>? {
    // This branch holds those below it, so they need not be counted as held on the way.
    var branch = Unmanaged.passUnretained(self)
    var shift = 0
    while let index = branch._withUnsafeGuaranteedRef({ $0.indexOfBranch(for: hash, shift: shift) })
    {
      branch = branch._withUnsafeGuaranteedRef { .passUnretained($0.branches[index]) }
      shift += Self.bitsPerBranch
    }
    return withExtendedLifetime(self) {
      branch._withUnsafeGuaranteedRef { $0.ownNode(for: key, hash: hash, shift: shift) }
    }
  }

  @inlinable
  func ownNode(for key: QueryPath.Element, hash: UInt, shift: Int) -> TrieNode<Element>? {
    guard let index = indexOfKnownNode(key, hash: hash, shift: shift) else { return nil }
    let node = nodes[index]
    return node.matches(key, hash: hash) ? node : nil
  }
}

// MARK: - Editing

// What follows changes `self` in place: the caller holds the only reference.
extension TrieBranch {
  @inlinable
  func update(
    _ element: Element,
    at path: QueryPath,
    depth: Int,
    hash: UInt,
    shift: Int
  ) -> Element? {
    let key = path.elements[depth]
    if let index = indexOfNode(for: key, hash: hash, shift: shift) {
      return uniqueNode(at: index).trie.update(element, at: path, depth: depth + 1)
    }
    if let index = indexOfBranch(for: hash, shift: shift) {
      let next = shift + Self.bitsPerBranch
      return uniqueBranch(at: index)
        .update(element, at: path, depth: depth, hash: hash, shift: next)
    }
    var trie = PathTrie<Element>()
    trie.update(element, at: path, depth: depth + 1)
    add(TrieNode(key: key, hash: hash, trie: trie), shift: shift)
    return nil
  }

  @inlinable
  func remove(_ removal: TrieRemoval, depth: Int, shift: Int) {
    let hash = removal.hashes[depth]
    if let index = indexOfBranch(for: hash, shift: shift) {
      let branch = uniqueBranch(at: index)
      branch.remove(removal, depth: depth, shift: shift + Self.bitsPerBranch)
      if let node = branch.onlyNode { replaceBranch(at: index, by: node, shift: shift) }
    } else if let index = indexOfKnownNode(removal.path.elements[depth], hash: hash, shift: shift) {
      if nodes[index].trie.count == removal.count {
        let node = nodes.remove(at: index)
        if !Self.isExhausted(shift) { nodeMap ^= Self.bit(of: node.hash, shift: shift) }
      } else {
        uniqueNode(at: index).trie.remove(removal, depth: depth + 1)
      }
    }
  }

  /// Adds a node whose key is not there and whose slot does not hold a branch.
  @inlinable
  func add(_ node: TrieNode<Element>, shift: Int) {
    if Self.isExhausted(shift) {
      nodes.append(node)
      return
    }
    let bit = Self.bit(of: node.hash, shift: shift)
    let index = Self.index(of: bit, in: nodeMap)
    if nodeMap & bit == 0 {
      nodes.insert(node, at: index)
    } else {
      let branch = TrieBranch()
      branch.add(nodes.remove(at: index), shift: shift + Self.bitsPerBranch)
      branch.add(node, shift: shift + Self.bitsPerBranch)
      branches.insert(branch, at: Self.index(of: bit, in: branchMap))
      branchMap ^= bit
    }
    nodeMap ^= bit
  }

  @inlinable
  func replaceBranch(at index: Int, by node: TrieNode<Element>, shift: Int) {
    let bit = Self.bit(of: node.hash, shift: shift)
    branches.remove(at: index)
    branchMap ^= bit
    nodes.insert(node, at: Self.index(of: bit, in: nodeMap))
    nodeMap ^= bit
  }

  @inlinable
  func indexOfBranch(for hash: UInt, shift: Int) -> Int? {
    if Self.isExhausted(shift) { return nil }
    let bit = Self.bit(of: hash, shift: shift)
    return branchMap & bit == 0 ? nil : Self.index(of: bit, in: branchMap)
  }

  @inlinable
  func indexOfNode(for key: QueryPath.Element, hash: UInt, shift: Int) -> Int? {
    guard let index = indexOfKnownNode(key, hash: hash, shift: shift) else { return nil }
    return nodes[index].matches(key, hash: hash) ? index : nil
  }

  /// The index of the node of a key that is known to be in this very branch. If a bit tells, the
  /// keys are not compared.
  @inlinable
  func indexOfKnownNode(_ key: QueryPath.Element, hash: UInt, shift: Int) -> Int? {
    if Self.isExhausted(shift) { return nodes.firstIndex { $0.key == key } }
    let bit = Self.bit(of: hash, shift: shift)
    return nodeMap & bit == 0 ? nil : Self.index(of: bit, in: nodeMap)
  }

  @inlinable
  func uniqueNode(at index: Int) -> TrieNode<Element> {
    if !isKnownUniquelyReferenced(&nodes[index]) {
      let node = nodes[index]
      nodes[index] = TrieNode(key: node.key, hash: node.hash, trie: node.trie)
    }
    return nodes[index]
  }

  @inlinable
  func uniqueBranch(at index: Int) -> TrieBranch {
    if !isKnownUniquelyReferenced(&branches[index]) {
      branches[index] = TrieBranch(copying: branches[index])
    }
    return branches[index]
  }
}
