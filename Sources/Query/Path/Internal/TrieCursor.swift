/// A place in the walk over the nodes of a ``PathTrie``, parents before their children.
///
/// It holds the branch that the walk began at. While that is held every edit copies it, and so what
/// is below it, which therefore neither changes nor goes: the cursor need not hold that as well.
@usableFromInline
struct TrieCursor<Element> {
  @usableFromInline
  struct Frame {
    @usableFromInline
    let branch: Unmanaged<TrieBranch<Element>>

    /// The next of the nodes, or past their number, of the branches.
    @usableFromInline
    var position = 0

    @inlinable
    init(_ branch: TrieBranch<Element>) {
      self.branch = .passUnretained(branch)
    }
  }

  @usableFromInline
  let root: TrieBranch<Element>?

  @usableFromInline
  var frame: Frame?

  /// The frames to return to.
  @usableFromInline
  var stack: [Frame]

  /// Makes a cursor before the first node.
  @inlinable
  init(startOf root: TrieBranch<Element>?) {
    self.root = root
    self.frame = root.map { Frame($0) }
    self.stack = []
  }

  /// Makes a cursor past the last node.
  @inlinable
  init(endOf root: TrieBranch<Element>?) {
    self.root = root
    self.stack = []
  }

  /// The next node that has an element, or nil at the end. It lives as long as the cursor.
  @inlinable
  mutating func next() -> Unmanaged<TrieNode<Element>>? {
    defer { withExtendedLifetime(root) {} }
    while let current = frame {
      let found = current.branch._withUnsafeGuaranteedRef { step(in: $0, at: current.position) }
      if let found { return found }
    }
    return nil
  }

  @inlinable
  mutating func step(
    in branch: TrieBranch<Element>,
    at position: Int
  ) -> Unmanaged<TrieNode<Element>>? {
    let nodeCount = branch.nodes.count
    if position < nodeCount {
      let node = Unmanaged.passUnretained(branch.nodes[position])
      frame?.position = position + 1
      return node._withUnsafeGuaranteedRef { node in
        if let children = node.trie.children { enter(children) }
        return node.trie.element == nil ? nil : .passUnretained(node)
      }
    }
    if position - nodeCount < branch.branches.count {
      frame?.position = position + 1
      enter(branch.branches[position - nodeCount])
    } else {
      frame = stack.popLast()
    }
    return nil
  }

  @inlinable
  mutating func enter(_ branch: TrieBranch<Element>) {
    if let frame { stack.append(frame) }
    frame = Frame(branch)
  }
}

extension TrieCursor: Sendable where Element: Sendable {}
extension TrieCursor.Frame: Sendable where Element: Sendable {}
