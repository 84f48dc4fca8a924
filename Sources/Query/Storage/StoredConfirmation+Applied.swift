extension StoredConfirmation {
  /// What is stored after this, for a storage that keeps entries as they are.
  ///
  /// - Parameter stored: What is stored; nil: nothing.
  /// - Returns: The entry; nil if this changes nothing by itself: it is ignored, or the whole entry is needed.
  func applied(to stored: StoredEntry?) -> StoredEntry? {
    guard let stored else { return self.keepsOtherValue && !self.hasValue ? self.entry : nil }
    let hasSameCoding =
      stored.kind == self.entry.kind && stored.coder == self.entry.coder
      && stored.version == self.entry.version
    let isSame =
      hasSameCoding
      && (self.hasValue ? stored.contentMark == self.content : stored.content == .none)
    if !self.keepsOtherValue {
      guard isSame else { return nil }
      var entry = self.entry
      entry.content = stored.content
      entry.contentMark = stored.contentMark
      return entry.replacing(stored)
    }
    // No storage has had the store's value, and there is no other.
    if self.hasValue, self.content == nil, stored.content == .none { return nil }
    var entry = stored
    entry.history.note(self.entry.history.lastInvalidation)
    guard isSame else { return entry }
    if self.entry.history.error != nil { entry.history.note(self.entry.history) }
    if stored.mark == nil { entry.mark = self.entry.mark }
    return entry
  }

  /// Whether nothing is to be written, since somebody has removed the entry.
  func isIgnored(beside stored: StoredEntry?) -> Bool {
    stored == nil && self.keepsOtherValue && self.hasValue && self.content != nil
  }
}

extension StoredEntry {
  /// The entry as it takes the place of the stored one: invalidated if that was meanwhile.
  ///
  /// - Parameters:
  ///   - stored: What is stored; nil: nothing.
  ///   - isOfStored: Whether the value was made of the stored one.
  /// - Returns: What is stored then; nil if it was asked for before an invalidation, and the stored one after it.
  func replacing(_ stored: StoredEntry?, isOfStored: Bool = false) -> StoredEntry? {
    guard let last = stored?.history.lastInvalidation else { return self }
    let merged = self.knownInvalidations.merged(with: last)
    if merged.isOlder, !isOfStored { return nil }
    var entry = self
    entry.history.lastInvalidation = merged.invalidation
    return entry
  }
}

extension StoredBasis {
  /// Whether an entry that was made of this takes the place of what is stored.
  func isReplaceable(_ stored: StoredEntry?) -> Bool {
    guard let stored else { return self.content == nil }
    return self.content != nil && self.content == stored.contentMark
  }
}

extension UpdateHistory {
  /// Takes the error of another history of the same value.
  fileprivate mutating func note(_ other: UpdateHistory) {
    self.error = other.error
    self.errorUpdateCount = max(self.errorUpdateCount, other.errorUpdateCount)
    self.errorLastUpdatedAt = other.errorLastUpdatedAt
  }
}
