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
