extension IdentifiedArray {
  /// Appends an element. Does nothing if its id is there already.
  ///
  /// - Parameter element: The element.
  /// - Returns: Whether it was put in, and the position of the element that now has its id.
  /// - Complexity: O(1) amortised if the storage is not shared, and O(√*n*) amortised if it is, where
  ///   *n* is the number of elements.
  @inlinable
  @discardableResult
  public mutating func append(_ element: Element) -> (inserted: Bool, index: Int) {
    if let index = index(id: element.id) { return (false, index) }
    appendNew(element)
    return (true, count - 1)
  }

  /// Appends the elements of a sequence, except those whose id is there already.
  ///
  /// - Parameter newElements: The elements.
  /// - Complexity: O(*m*) amortised if the storage is not shared, where *m* is their number.
  @inlinable
  public mutating func append(contentsOf newElements: some Sequence<Element>) {
    for element in newElements where !contains(id: element.id) { appendNew(element) }
  }

  /// Inserts an element before the one at a position. Does nothing if its id is there already.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - index: A position, from 0 up to and including `count`.
  /// - Returns: Whether it was put in, and the position of the element that now has its id.
  /// - Complexity: O(1) amortised at 0 and at `count` if the storage is not shared, otherwise
  ///   O(*n*), where *n* is the number of elements.
  @inlinable
  @discardableResult
  public mutating func insert(_ element: Element, at index: Int) -> (inserted: Bool, index: Int) {
    precondition(index >= 0 && index <= count, Self.rangeMessage(index, count: count))
    if let present = self.index(id: element.id) { return (false, present) }
    guard index < count else {
      appendNew(element)
      return (true, index)
    }
    let storage = ownStorage(adding: 1)
    storage.occupy(storage.openGap(at: index), with: element)
    return (true, index)
  }

  /// Reserves capacity for a number of elements, until one is removed.
  ///
  /// - Parameter minimumCapacity: The number of elements in all. Smaller ones than `count` change
  ///   nothing.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public mutating func reserveCapacity(_ minimumCapacity: Int) {
    let missing = minimumCapacity - count
    if missing > 0 { _ = ownStorage(adding: missing) }
  }

  /// Appends an element; the caller has made sure that its id is not there.
  @inlinable
  mutating func appendNew(_ element: Element) {
    let storage = ownStorage(from: storage?.end ?? 0, adding: 1)
    storage.occupy(storage.openGap(at: storage.count), with: element)
  }

  /// The storage, made this value's own as a whole, with free slots for `extra` more elements.
  @inlinable
  mutating func ownStorage(adding extra: Int = 0) -> Storage {
    if !isKnownUniquelyReferenced(&storage) || storage!.isLayered {
      let slotCount = Storage.slotCount(for: (storage?.span ?? 0) + extra)
      storage =
        storage?.relocated(slotCount: slotCount, moving: false) ?? .make(slotCount: slotCount)
    } else if storage!.span + extra > storage!.slotCount {
      makeRoom(for: extra)
    }
    return storage!
  }

  /// Closes the holes if they make up a quarter of the slots, otherwise moves to a larger storage.
  @inlinable
  @inline(never)
  mutating func makeRoom(for extra: Int) {
    let old = storage!
    let holes = old.span - old.count
    if holes >= extra, holes >= old.span / 4 {
      old.compact()
    } else {
      storage = old.relocated(slotCount: Storage.slotCount(for: old.span + extra), moving: true)
    }
  }
}
