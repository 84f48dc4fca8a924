extension IdentifiedArray {
  /// Removes the element with the id.
  ///
  /// - Parameter id: An element's id.
  /// - Returns: The element, or `nil` if there is none with the id.
  /// - Complexity: O(1) amortised if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func remove(id: ID) -> Element? {
    guard let position = storage?.position(of: id) else { return nil }
    return removeElement(position)
  }

  /// Removes the element with the id of another one.
  ///
  /// - Parameter element: An element, of which only the id counts.
  /// - Returns: The element that was there, or `nil` if there was none with the id.
  /// - Complexity: O(1) amortised if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func remove(_ element: Element) -> Element? { remove(id: element.id) }

  /// Removes the elements at some positions, as the `onDelete` of a list asks for.
  ///
  /// - Parameter offsets: Positions before the removal, from 0 up to but not including `count`, in any
  ///   order, such as an `IndexSet`, a range or an array. One that comes twice counts once.
  /// - Complexity: O(*n* + *m*), where *n* is the number of elements and *m* that of the offsets.
  @inlinable
  public mutating func remove(atOffsets offsets: some Sequence<Int>) {
    guard let isRemoved = marks(at: offsets) else { return }
    for (element, isRemoved) in zip(elements, isRemoved) where isRemoved { remove(element) }
  }

  /// The elements that satisfy a predicate, in their order.
  ///
  /// - Parameter isIncluded: Whether an element is among them.
  /// - Throws: What `isIncluded` throws.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Self {
    var result = Self()
    for element in self where try isIncluded(element) { result.appendNew(element) }
    return result
  }

  /// Removes the element at a position.
  ///
  /// - Parameter index: A position, from 0 up to but not including `count`.
  /// - Returns: The element.
  /// - Complexity: O(1) amortised if the storage is not shared and there are no holes, otherwise as
  ///   for finding an element by its position.
  @inlinable
  @discardableResult
  public mutating func remove(at index: Int) -> Element {
    precondition(index >= 0 && index < count, Self.rangeMessage(index, count: count))
    // Not bound to a constant: a second owner would make the removal copy the storage.
    return removeElement(storage!.position(at: index))
  }

  /// Removes the first element. The array must not be empty.
  ///
  /// - Returns: The element.
  /// - Complexity: O(1) amortised if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func removeFirst() -> Element { remove(at: 0) }

  /// Removes the last element. The array must not be empty.
  ///
  /// - Returns: The element.
  /// - Complexity: O(1) amortised if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func removeLast() -> Element { remove(at: count - 1) }

  /// Removes all elements.
  ///
  /// - Parameter keepingCapacity: Whether to have room for as many elements as before.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public mutating func removeAll(keepingCapacity: Bool = false) {
    guard keepingCapacity, let slotCount = storage?.slotCount else {
      storage = nil
      return
    }
    storage = Storage.make(slotCount: slotCount)
  }

  /// Removes the elements that satisfy a predicate.
  ///
  /// - Parameter shouldBeRemoved: Whether to remove an element. It is called once for each element,
  ///   in order, before any is removed.
  /// - Throws: What `shouldBeRemoved` throws; the array is then as it was.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public mutating func removeAll(
    where shouldBeRemoved: (Element) throws -> Bool
  ) rethrows {
    let removed: [Element] = try filter(shouldBeRemoved)
    for element in removed { remove(id: element.id) }
  }

  /// Removes an element that nobody wants: one of a shared storage is not even looked at, since it may have
  /// left the processor's cache long ago.
  @inlinable
  mutating func discard(at index: Int) {
    let position = storage!.position(at: index)
    if storage!.count > 1, storage!.isLayered, position == storage!.head, leaveFirstToBase() {
      return
    }
    _ = removeElement(position)
  }

  @inlinable
  mutating func removeElement(_ position: Int) -> Element {
    if storage!.count == 1, !isKnownUniquelyReferenced(&storage) {
      // The other owners keep the storage: nothing is left to copy.
      let element = storage!.slot(position).pointee!
      storage = nil
      return element
    }
    if storage!.isLayered, position == storage!.head {
      let element = storage!.slot(position).pointee!
      if leaveFirstToBase() { return element }
    }
    let storage = ownStorage()
    let element = storage.slot(position).pointee.take()!
    storage.vacated(position, id: element.id)
    settle()
    return element
  }

  /// Frees memory after a removal: all of it if a large storage became empty, most of it if an
  /// eighth or less is used. A small storage is kept for the next element.
  @inlinable
  mutating func settle() {
    guard let storage, storage.slotCount > Storage.smallCapacity else { return }
    if storage.count == 0 {
      self.storage = nil
    } else if storage.slotCount > 32, storage.count <= storage.slotCount / 8 {
      storage.compact()
      self.storage = storage.relocated(slotCount: storage.slotCount / 4, moving: true)
    }
  }
}
