// MARK: - Folding

extension StoreOverlay {
  /// Acknowledged edits that are about to become a part of the base.
  struct Fold {
    let base: State
    let edits: [LaidEdit]
    let mark: ValueMark
    let version: Int
    let publications: Int
  }

  /// Begins to make edits for the base, which ``endEditing()`` ends. The caller holds the lock.
  ///
  /// - Returns: Nil if something is under way, or the base's server names what an answer includes: then an
  ///   edit need not be the same if made twice, and is made over what the server said alone.
  func beginFold(over base: State, upTo limit: Int64) -> Fold? {
    guard self.isSettled, !self.isEditing, self.mark.includedKeys == nil else { return nil }
    let edits = self.edits.filter { edit in
      guard let sequence = edit.row.sequence else { return false }
      return sequence <= limit && !self.mark.covers(edit.row)
    }
    if edits.isEmpty { return nil }
    self.editingThreads.append(currentThread())
    return Fold(
      base: base, edits: edits, mark: self.mark, version: self.version,
      publications: self.publications)
  }

  /// Makes the edits. Called off the lock.
  func value(of fold: Fold) -> Value {
    var value = fold.base.currentValue
    for edit in fold.edits { self.make(edit, in: &value, fold.mark) }
    return value
  }

  /// Whether nothing has changed since. The caller holds the lock.
  func isCurrent(_ fold: Fold) -> Bool {
    self.isSettled && self.publications == fold.publications && self.version == fold.version
      && self.mark == fold.mark
  }

  /// Takes a folded value. What is shown stays. The caller holds the lock.
  func take(_ value: Value, upTo limit: Int64, into base: inout State) {
    self.show(&base, value)
    self.mark.sequence = limit
  }
}
