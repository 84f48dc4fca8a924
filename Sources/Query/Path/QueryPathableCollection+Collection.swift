extension QueryPathableCollection: Collection {
  /// The number of elements.
  ///
  /// - Complexity: O(1).
  @inlinable
  public var count: Int { trie.count }

  /// Whether there are no elements.
  @inlinable
  public var isEmpty: Bool { trie.count == 0 }

  /// The place of the first element, or ``endIndex``.
  @inlinable
  public var startIndex: Index { Index(startOf: trie) }

  /// The place past the last element.
  @inlinable
  public var endIndex: Index { Index(endOf: trie) }

  /// The element at a place of this very collection.
  ///
  /// - Parameter position: The place of an element. It must be from the collection as it is now: an
  ///   edit invalidates all indices.
  @inlinable
  public subscript(position: Index) -> Element {
    guard let element = position.element(in: trie) else {
      preconditionFailure("QueryPathableCollection index out of range")
    }
    return element
  }

  /// The place after another.
  ///
  /// - Parameter i: The place of an element.
  /// - Returns: The place of the next element, or ``endIndex``.
  @inlinable
  public func index(after i: Index) -> Index {
    var next = i
    formIndex(after: &next)
    return next
  }

  /// Moves a place to the next element, or to ``endIndex``.
  ///
  /// - Parameter i: The place of an element.
  @inlinable
  public func formIndex(after i: inout Index) {
    i.advance(in: trie)
  }

  /// The number of elements from one index to another, negative if the second comes first.
  ///
  /// - Complexity: O(1).
  @inlinable
  public func distance(from start: Index, to end: Index) -> Int {
    end.offset - start.offset
  }

  /// Makes a walk over the elements.
  ///
  /// - Returns: The walk, in the order of the indices.
  @inlinable
  public func makeIterator() -> Iterator {
    Iterator(trie)
  }

  /// A walk over the elements of a collection as it was when the walk was made.
  public struct Iterator: IteratorProtocol {
    @usableFromInline
    var first: Element?

    @usableFromInline
    var cursor: TrieCursor<Element>

    @inlinable
    init(_ trie: PathTrie<Element>) {
      self.first = trie.element
      self.cursor = TrieCursor(startOf: trie.children)
    }

    /// The next element, or nil at the end.
    @inlinable
    public mutating func next() -> Element? {
      if let element = first {
        first = nil
        return element
      }
      guard let node = cursor.next() else { return nil }
      return withExtendedLifetime(cursor) { node._withUnsafeGuaranteedRef { $0.trie.element } }
    }
  }
}

extension QueryPathableCollection.Iterator: Sendable where Element: Sendable {}
