extension IdentifiedArray {
  /// Replaces an element of a page, wherever it stands; adds it at the beginning of the first page if
  /// there is none.
  ///
  /// - Parameters:
  ///   - item: The element.
  ///   - isSame: Whether an element is the one to replace.
  /// - Returns: Whether there was a page.
  /// - Complexity: O(*n*) in the number of elements of all pages.
  @discardableResult
  public mutating func upsert<Items: RangeReplaceableCollection & MutableCollection & Sendable>(
    _ item: Items.Element, where isSame: (Items.Element) throws -> Bool
  ) rethrows -> Bool where Element == InfiniteQueryPage<ID, Items> {
    for position in self.indices {
      var page = self[position]
      guard let place = try page.value.firstIndex(where: isSame) else { continue }
      page.value[place] = item
      self.updateOrAppend(page)
      return true
    }
    guard var first = self.first else { return false }
    first.value.insert(item, at: first.value.startIndex)
    self.updateOrAppend(first)
    return true
  }

  /// Removes elements from all pages. Pages that are empty then stay.
  ///
  /// - Parameter isRemoved: Whether an element is to be removed.
  /// - Complexity: O(*n*) in the number of elements of all pages.
  public mutating func remove<Items: RangeReplaceableCollection & Sendable>(
    where isRemoved: (Items.Element) throws -> Bool
  ) rethrows where Element == InfiniteQueryPage<ID, Items> {
    for position in self.indices {
      var page = self[position]
      guard try page.value.contains(where: isRemoved) else { continue }
      try page.value.removeAll(where: isRemoved)
      self.updateOrAppend(page)
    }
  }
}
