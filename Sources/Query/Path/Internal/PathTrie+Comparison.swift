// MARK: - Comparing

extension PathTrie {
  /// Whether both tries have the same paths, with elements that a closure considers equal. Parts
  /// that both share are skipped.
  @inlinable
  func isEqual(to other: PathTrie, by areEqual: (Element, Element) -> Bool) -> Bool {
    if count != other.count { return false }
    switch (element, other.element) {
    case (nil, nil): break
    case (let lhs?, let rhs?): if !areEqual(lhs, rhs) { return false }
    default: return false
    }
    switch (children, other.children) {
    case (nil, nil): return true
    case (let lhs?, let rhs?): return lhs === rhs || lhs.isEqual(to: rhs, by: areEqual)
    default: return false
    }
  }

  /// Calls a closure with each element whose path is not in another trie, or has another element there.
  /// Parts that both share are skipped.
  @inlinable
  func forEachMissing(
    from other: PathTrie?,
    by isSame: (Element, Element) -> Bool,
    _ body: (Element) -> Void
  ) {
    if let element, !(other?.element.map { isSame(element, $0) } ?? false) { body(element) }
    if let children, children !== other?.children {
      children.forEachMissing(from: other?.children, shift: 0, otherShift: 0, by: isSame, body)
    }
  }
}

extension TrieNode {
  @inlinable
  func isEqual(to other: TrieNode, by areEqual: (Element, Element) -> Bool) -> Bool {
    if self === other { return true }
    return matches(other.key, hash: other.hash) && trie.isEqual(to: other.trie, by: areEqual)
  }
}

extension TrieBranch {
  @inlinable
  func isEqual(to other: TrieBranch, by areEqual: (Element, Element) -> Bool) -> Bool {
    guard nodeMap == other.nodeMap, branchMap == other.branchMap,
      nodes.count == other.nodes.count
    else { return false }
    if isList {
      return nodes.allSatisfy { node in
        other.nodes.contains { node.isEqual(to: $0, by: areEqual) }
      }
    }
    return nodes.elementsEqual(other.nodes) { $0.isEqual(to: $1, by: areEqual) }
      && branches.elementsEqual(other.branches) { $0 === $1 || $0.isEqual(to: $1, by: areEqual) }
  }

  /// - Parameters:
  ///   - other: The branch of the other trie that holds what it has of this branch's keys: the one
  ///     at the same place, or the last one above it.
  ///   - shift: The bits of the hashes that are used up above this branch.
  ///   - otherShift: Those used up above `other`, at most as many.
  ///   - isSame: Whether an element stands for another one of its path.
  ///   - body: Called with the elements.
  @inlinable
  func forEachMissing(
    from other: TrieBranch?,
    shift: Int,
    otherShift: Int,
    by isSame: (Element, Element) -> Bool,
    _ body: (Element) -> Void
  ) {
    for node in nodes {
      let match = other?.match(of: node, shift: otherShift)
      if match !== node { node.trie.forEachMissing(from: match?.trie, by: isSame, body) }
    }
    var places = branchMap
    let next = shift + Self.bitsPerBranch
    for branch in branches {
      let bit = places & (~places &+ 1)
      places ^= bit
      if shift == otherShift, let other, other.branchMap & bit != 0 {
        let counterpart = other.branches[Self.index(of: bit, in: other.branchMap)]
        if counterpart === branch { continue }
        branch.forEachMissing(
          from: counterpart, shift: next, otherShift: next, by: isSame, body)
      } else {
        branch.forEachMissing(
          from: other, shift: next, otherShift: otherShift, by: isSame, body)
      }
    }
  }

  /// The node, in or below this branch, of another trie's node's key. Keys of one node are not
  /// compared.
  @inlinable
  func match(of node: TrieNode<Element>, shift: Int) -> TrieNode<Element>? {
    if let index = indexOfBranch(for: node.hash, shift: shift) {
      return branches[index].match(of: node, shift: shift + Self.bitsPerBranch)
    }
    if Self.isExhausted(shift) {
      return nodes.first { $0 === node || $0.key == node.key }
    }
    let bit = Self.bit(of: node.hash, shift: shift)
    guard nodeMap & bit != 0 else { return nil }
    let candidate = nodes[Self.index(of: bit, in: nodeMap)]
    return candidate === node || candidate.matches(node.key, hash: node.hash) ? candidate : nil
  }
}
