import Query

/// What is wrong with the shape of a trie, or nil if it is as it must be.
func shapeFault<Element>(in trie: PathTrie<Element>) -> String? {
  let own = trie.element == nil ? 0 : 1
  guard let children = trie.children else {
    return trie.count == own ? nil : "a count of \(trie.count) without children"
  }
  if children.isEmpty { return "an empty branch" }
  if trie.count != own + count(in: children) { return "a wrong count" }
  return shapeFault(in: children, shift: 0, prefix: 0)
}

private func count<Element>(in branch: TrieBranch<Element>) -> Int {
  branch.nodes.reduce(0) { $0 + $1.trie.count } + branch.branches.reduce(0) { $0 + count(in: $1) }
}

private func shapeFault<Element>(
  in branch: TrieBranch<Element>,
  shift: Int,
  prefix: UInt
) -> String? {
  if shift > 0, branch.onlyNode != nil || branch.isEmpty { return "a branch that is not needed" }
  let known = shift >= UInt.bitWidth ? UInt.max : (1 << UInt(shift)) - 1
  for node in branch.nodes {
    if node.trie.count == 0 { return "a node without an element" }
    if node.hash & known != prefix { return "a node in the wrong place" }
    if node.hash != UInt(bitPattern: AnyHashable(node.key.base).hashValue) { return "a wrong hash" }
    if let fault = shapeFault(in: node.trie) { return fault }
  }
  if TrieBranch<Element>.isExhausted(shift) {
    return branch.nodeMap | branch.branchMap == 0 && branch.branches.isEmpty
      ? nil : "a list with places"
  }
  if branch.nodeMap & branch.branchMap != 0 { return "a place that is taken twice" }
  let bits = branch.nodes.map { TrieBranch<Element>.bit(of: $0.hash, shift: shift) }
  if bits != bits.sorted() || bits.reduce(0, |) != branch.nodeMap { return "a wrong map" }
  if branch.branchMap.nonzeroBitCount != branch.branches.count { return "a wrong branch map" }
  let places = (0..<32).filter { branch.branchMap & (1 << $0) != 0 }
  for (place, branch) in zip(places, branch.branches) {
    let next = shift + TrieBranch<Element>.bitsPerBranch
    let fault = shapeFault(in: branch, shift: next, prefix: prefix | UInt(place) << UInt(shift))
    if let fault { return fault }
  }
  return nil
}

/// The identities of all nodes of a trie.
func nodeIdentities<Element>(in trie: PathTrie<Element>) -> Set<ObjectIdentifier> {
  var found = Set<ObjectIdentifier>()
  func visit(_ branch: TrieBranch<Element>) {
    for node in branch.nodes {
      found.insert(ObjectIdentifier(node))
      if let children = node.trie.children { visit(children) }
    }
    for branch in branch.branches { visit(branch) }
  }
  if let children = trie.children { visit(children) }
  return found
}
