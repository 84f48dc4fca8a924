extension IdentifiedArray {
  /// Takes out the element with the id.
  ///
  /// - Parameter id: An element's id.
  /// - Returns: The element, or `nil` where there is none with the id.
  /// - Complexity: O(1) amortised where the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func remove(id: ID) -> Element? {
    guard let position = storage?.position(of: id) else { return nil }
    return removeElement(position)
  }

  /// Takes out the element at a position.
  ///
  /// - Parameter index: A position, from 0 up to but not including `count`.
  /// - Returns: The element.
  /// - Complexity: O(1) amortised where the storage is not shared and there are no holes, otherwise
  ///   as for finding an element by its position.
  @inlinable
  @discardableResult
  public mutating func remove(at index: Int) -> Element {
    precondition(index >= 0 && index < count, Self.rangeMessage(index, count: count))
    // Not bound to a constant: a second owner would make the removal copy the storage.
    return removeElement(storage!.position(at: index))
  }

  /// Takes out the first element, of which there must be one.
  ///
  /// - Returns: The element.
  /// - Complexity: O(1) amortised where the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func removeFirst() -> Element { remove(at: 0) }

  /// Takes out the last element, of which there must be one.
  ///
  /// - Returns: The element.
  /// - Complexity: O(1) amortised where the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func removeLast() -> Element { remove(at: count - 1) }

  /// Takes out all elements.
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

  /// Takes out the elements for which a predicate holds.
  ///
  /// - Parameter shouldBeRemoved: Whether to take an element out. It is asked once for each element,
  ///   in order, before any is taken out.
  /// - Throws: What `shouldBeRemoved` throws; the array is then as it was.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public mutating func removeAll(
    where shouldBeRemoved: (Element) throws -> Bool
  ) rethrows {
    for element in try filter(shouldBeRemoved) { remove(id: element.id) }
  }

  @inlinable
  mutating func removeElement(_ position: Int) -> Element {
    if storage!.count == 1, !isKnownUniquelyReferenced(&storage) {
      // The other owners keep the storage: nothing is left to copy.
      let element = storage!.slot(position).pointee!
      storage = nil
      return element
    }
    let storage = ownStorage()
    let element = storage.slot(position).pointee.take()!
    storage.vacated(position, id: element.id)
    settle()
    return element
  }

  /// Gives memory back after a removal: all of it where a large storage became empty, most of it
  /// where an eighth or less is used. A small one is kept for the next element.
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
