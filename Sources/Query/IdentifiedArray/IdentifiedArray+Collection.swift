// MARK: - Sequence

extension IdentifiedArray: Sequence {
  /// Goes through the elements of an ``IdentifiedArray`` in order, in constant time for each.
  public struct Iterator: IteratorProtocol {
    @usableFromInline
    let storage: Storage?

    @usableFromInline
    var position: Int

    @usableFromInline
    let end: Int

    @inlinable
    init(_ storage: Storage?) {
      self.storage = storage
      position = storage?.head ?? 0
      end = storage?.end ?? 0
    }

    /// The next element, or `nil` after the last one.
    @inlinable
    public mutating func next() -> Element? {
      guard let storage else { return nil }
      while position < end {
        defer { position += 1 }
        if let element = storage.slot(position).pointee { return element }
      }
      return nil
    }
  }

  /// An iterator at the first element. It goes on with the elements of this moment, whatever
  /// becomes of the array.
  @inlinable
  public func makeIterator() -> Iterator { Iterator(storage) }
}

// MARK: - Collection

extension IdentifiedArray: RandomAccessCollection, MutableCollection {
  /// Always 0.
  @inlinable
  public var startIndex: Int { 0 }

  /// The number of elements.
  @inlinable
  public var endIndex: Int { count }

  /// The number of elements.
  @inlinable
  public var count: Int { storage?.count ?? 0 }

  /// Whether there is no element.
  @inlinable
  public var isEmpty: Bool { count == 0 }

  /// The first element, or `nil` if the array is empty.
  @inlinable
  public var first: Element? {
    guard let storage, storage.count > 0 else { return nil }
    return storage.slot(storage.head).pointee
  }

  /// The last element, or `nil` if the array is empty.
  @inlinable
  public var last: Element? {
    guard let storage, storage.count > 0 else { return nil }
    return storage.slot(storage.end - 1).pointee
  }

  /// The elements as an `Array`, in order.
  ///
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public var elements: [Element] { Array(self) }

  /// The element at a position. It is edited in place, without being copied.
  ///
  /// Changing its id, or assigning an element with another id, is a programmer's mistake, and stops
  /// the program.
  ///
  /// - Parameter index: A position, from 0 up to but not including `count`.
  /// - Complexity: O(1) if there are no holes, otherwise O(*n* / 64), where *n* is the number of
  ///   elements.
  @inlinable
  public subscript(index: Int) -> Element {
    get {
      guard let storage, index >= 0, index < storage.count else {
        preconditionFailure(Self.rangeMessage(index, count: count))
      }
      return storage.slot(storage.position(at: index)).pointee!
    }
    _modify {
      precondition(index >= 0 && index < count, Self.rangeMessage(index, count: count))
      let storage = ownStorage()
      let position = storage.position(at: index)
      let id = storage.slot(position).pointee!.id
      defer {
        let newID = storage.slot(position).pointee!.id
        precondition(newID == id, Self.changedIDMessage(from: id, to: newID))
      }
      yield &storage.slot(position).pointee!
    }
  }

  /// Exchanges the elements at two positions.
  ///
  /// - Parameters:
  ///   - i: A position, from 0 up to but not including `count`.
  ///   - j: Another, or the same.
  /// - Complexity: As for finding an element by its position.
  @inlinable
  public mutating func swapAt(_ i: Int, _ j: Int) {
    precondition(i >= 0 && i < count, Self.rangeMessage(i, count: count))
    precondition(j >= 0 && j < count, Self.rangeMessage(j, count: count))
    guard i != j else { return }
    let storage = ownStorage()
    storage.swap(storage.position(at: i), storage.position(at: j))
  }

  @usableFromInline
  @inline(never)
  static func rangeMessage(_ index: Int, count: Int) -> String {
    "IdentifiedArray index \(index) is out of range: the array has \(count) elements."
  }
}

// MARK: - Sorting

extension IdentifiedArray {
  /// Sorts the elements. Elements that compare as equal keep their order.
  ///
  /// - Parameter areInIncreasingOrder: Whether the first element comes before the second.
  /// - Throws: What `areInIncreasingOrder` throws; the array is then as it was.
  /// - Complexity: O(*n* log *n*), where *n* is the number of elements.
  @inlinable
  public mutating func sort(
    by areInIncreasingOrder: (Element, Element) throws -> Bool
  ) rethrows {
    // The standard library's `sort` writes elements over one another.
    self = Self(uniqueElements: try sorted(by: areInIncreasingOrder))
  }

  /// Sorts the elements. Equal elements keep their order.
  ///
  /// - Complexity: O(*n* log *n*), where *n* is the number of elements.
  @inlinable
  public mutating func sort() where Element: Comparable { sort(by: <) }
}
