extension QueryPathableCollection {
  /// A place in a collection: that of an element, or the end.
  ///
  /// It is of use only with the collection that it is from, and until that is edited.
  public struct Index {
    /// The number of elements before.
    @usableFromInline
    var offset: Int

    /// The node of the element, which the cursor keeps alive; nil at the end, and at an element of
    /// the empty path, the first.
    @usableFromInline
    var node: Unmanaged<TrieNode<Element>>?

    /// The walk that came to the node. It holds the branch where it began; every edit below
    /// therefore copies that branch, which shows that the index is old.
    @usableFromInline
    var cursor: TrieCursor<Element>

    @inlinable
    init(startOf trie: PathTrie<Element>) {
      self.offset = 0
      self.cursor = TrieCursor(startOf: trie.children)
      self.node = trie.element == nil ? cursor.next() : nil
    }

    @inlinable
    init(endOf trie: PathTrie<Element>) {
      self.offset = trie.count
      self.cursor = TrieCursor(endOf: trie.children)
    }

    /// The element at the place, or nil at the end.
    @inlinable
    func element(in trie: PathTrie<Element>) -> Element? {
      check(trie)
      if let node {
        return withExtendedLifetime(cursor) { node._withUnsafeGuaranteedRef { $0.trie.element } }
      }
      return offset == 0 ? trie.element : nil
    }

    @inlinable
    mutating func advance(in trie: PathTrie<Element>) {
      check(trie)
      precondition(offset < trie.count, "QueryPathableCollection index is past the end")
      offset += 1
      node = cursor.next()
    }

    @inlinable
    func check(_ trie: PathTrie<Element>) {
      precondition(
        cursor.root === trie.children,
        "This index is of another QueryPathableCollection, or from before an edit of this one"
      )
    }
  }
}

extension QueryPathableCollection.Index: Hashable, Comparable {
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.offset == rhs.offset
  }

  @inlinable
  public static func < (lhs: Self, rhs: Self) -> Bool {
    lhs.offset < rhs.offset
  }

  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(offset)
  }
}

extension QueryPathableCollection.Index: Sendable where Element: Sendable {}
