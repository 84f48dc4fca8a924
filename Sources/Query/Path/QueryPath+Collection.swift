extension QueryPath: MutableCollection, RandomAccessCollection, RangeReplaceableCollection {
  /// The message of a trap for an index or a range outside the path.
  package static let _indexOutOfRangeMessage = "QueryPath index out of range"

  /// 0.
  @inlinable
  public var startIndex: Int { 0 }

  /// The number of elements.
  @inlinable
  public var endIndex: Int { elements.count }

  /// The element at a position, which must be below ``endIndex``.
  ///
  /// - Parameter position: The place of the element, from 0.
  public subscript(position: Int) -> Element {
    get {
      precondition(elements.indices.contains(position), Self._indexOutOfRangeMessage)
      return elements[position]
    }
    set {
      precondition(elements.indices.contains(position), Self._indexOutOfRangeMessage)
      elements[position] = newValue
    }
  }

  /// The elements in a range of positions, which must lie inside of the path.
  ///
  /// - Parameter bounds: The places of the elements. Empty ones may be at ``endIndex``.
  public subscript(bounds: Range<Int>) -> Slice<QueryPath> {
    get {
      checkBounds(bounds)
      return Slice(base: self, bounds: bounds)
    }
    set {
      checkBounds(bounds)
      elements.replaceSubrange(bounds, with: newValue)
    }
  }

  /// Replaces the elements in a range of positions by others, of any number.
  ///
  /// - Parameters:
  ///   - subrange: The places of the elements that go, inside of the path. An empty range inserts,
  ///     and may be at ``endIndex``.
  ///   - newElements: The elements that come, in order.
  /// - Complexity: O(*n* + *m*) in the length of the path and of `newElements`.
  public mutating func replaceSubrange(
    _ subrange: Range<Int>,
    with newElements: some Collection<Element>
  ) {
    checkBounds(subrange)
    elements.replaceSubrange(subrange, with: newElements)
  }

  /// Makes room for a number of elements.
  ///
  /// - Parameter minimumCapacity: The number of elements, those already there included.
  public mutating func reserveCapacity(_ minimumCapacity: Int) {
    elements.reserveCapacity(minimumCapacity)
  }

  private func checkBounds(_ bounds: Range<Int>) {
    precondition(
      bounds.lowerBound >= 0 && bounds.upperBound <= elements.count,
      Self._indexOutOfRangeMessage
    )
  }
}
