// How a large array is changed at its end while a copy of it is alive, as when a handler keeps each state
// of a mutation: only the elements from the seam on are copied.

extension IdentifiedArray.Storage {
  /// An array with no more elements than this is copied as a whole.
  @inlinable
  static var flatCapacity: Int { 256 }

  /// Whether the elements before the seam are in another storage. If so, there is one, and no hole.
  @inlinable
  var isLayered: Bool { seam != .min }

  @inlinable
  var seam: Int { fields.pointee.seam }

  /// The first position in use that has a slot of this storage.
  @inlinable
  var ownHead: Int { seam > head ? seam : head }

  @inlinable
  @inline(never)
  func baseSlot(_ position: Int) -> UnsafeMutablePointer<Element?> {
    let base = fields.pointee.base.unsafelyUnwrapped
    return base.slots + base.slotNumber(position)
  }

  @inlinable
  @inline(never)
  func basePosition(of id: ID) -> Int? {
    // The base may still have elements that were removed from the front here, and others behind the seam.
    guard let position = fields.pointee.base?.position(of: id), position >= head, position < seam
    else { return nil }
    return position
  }

  /// The positions by id, of the base and of this storage.
  @inlinable
  func joinedIndex() -> [ID: Int]? {
    guard let base = fields.pointee.base, var index = base.fields.pointee.index else { return nil }
    for position in base.head..<head { index[base.slot(position).pointee!.id] = nil }
    for position in seam..<base.end { index[base.slot(position).pointee!.id] = nil }
    for position in seam..<end { index[slot(position).pointee!.id] = position }
    return index
  }

  /// A storage with the same elements, and with slots of its own only for those from a position on.
  ///
  /// - Parameters:
  ///   - start: The position, not after the seam if there is one.
  ///   - slotCount: The number of its slots.
  ///   - moving: Whether this storage may lose its elements, because it is about to be freed. Then
  ///     `start` is the seam.
  @inlinable
  func layered(from start: Int, slotCount: Int, moving: Bool) -> IdentifiedArray.Storage {
    let new = Self.make(slotCount: slotCount)
    new.fields.pointee.head = head
    new.fields.pointee.span = span
    new.fields.pointee.count = count
    new.fields.pointee.seam = start
    new.fields.pointee.base = fields.pointee.base ?? self
    for position in start..<end {
      new.slot(position).pointee = moving ? slot(position).pointee.take() : slot(position).pointee
    }
    if start == seam {
      new.fields.pointee.index = moving ? fields.pointee.index.take() : fields.pointee.index
    } else if end - start > Self.smallCapacity {
      new.buildIndex()
    }
    return new
  }

  /// Moves the elements from the seam on into the base, and returns the base; nil if another value still
  /// uses the base.
  @inlinable
  func joinedWithBase() -> IdentifiedArray.Storage? {
    guard isKnownUniquelyReferenced(&fields.pointee.base), var base = fields.pointee.base.take()
    else { return nil }
    while base.end > seam {
      let last = base.slot(base.end - 1).pointee.take()!
      base.fields.pointee.index?[last.id] = nil
      base.fields.pointee.span -= 1
    }
    while base.head < head {
      let first = base.slot(base.head).pointee.take()!
      base.fields.pointee.index?[first.id] = nil
      base.fields.pointee.head += 1
      base.fields.pointee.span -= 1
    }
    base.fields.pointee.count = base.span
    if span > base.slotCount {
      base = base.relocated(slotCount: Self.slotCount(for: span), moving: true)
    }
    for position in seam..<end {
      base.fields.pointee.span += 1
      base.occupy(position, with: slot(position).pointee.take()!)
    }
    return base
  }
}

// MARK: - Owning

extension IdentifiedArray {
  /// The storage, made this value's own from a position on, with free slots for `extra` more elements
  /// at the end.
  @inlinable
  mutating func ownStorage(from position: Int, adding extra: Int = 0) -> Storage {
    let isUnique = isKnownUniquelyReferenced(&storage)
    guard let count = storage?.count, count > Storage.flatCapacity,
      !isUnique || storage!.isLayered
    else { return ownStorage(adding: extra) }
    return ownEnd(from: position, adding: extra, isUnique: isUnique)
  }

  @inlinable
  @inline(never)
  mutating func ownEnd(from position: Int, adding extra: Int, isUnique: Bool) -> Storage {
    let old = storage!
    if isUnique {
      if let joined = old.joinedWithBase() {
        storage = joined
        return ownStorage(adding: extra)
      }
      if position >= old.seam, old.end - old.seam + extra <= old.slotCount { return old }
    }
    let start = Swift.min(position, old.isLayered ? old.seam : old.end)
    let length = old.end - start
    let moves = isUnique && start == old.seam
    // Copying some elements with each change is weighed against copying all of them now and then: that frees
    // as many as it copies, and few of them are in the processor's cache.
    let isTooLong = moves ? length > old.count / 2 : length * length > 8 * old.count
    if old.span > old.count || isTooLong { return ownStorage(adding: extra) }
    let new = old.layered(
      from: start, slotCount: Storage.slotCount(for: length + Swift.max(extra, 1)), moving: moves)
    storage = new
    return new
  }

  /// Removes the first element if that is in the base of the storage; nil if this value has no base, or
  /// drops it because it no longer pays off.
  @inlinable
  mutating func removeFromBase() -> Element? {
    let end = storage!.end
    let own = ownStorage(from: end)
    guard own.isLayered, let base = own.fields.pointee.base else { return nil }
    if own.head + 1 >= own.seam || (own.head - base.head) * 2 > base.span { return nil }
    let element = own.slot(own.head).pointee
    own.fields.pointee.head += 1
    own.fields.pointee.span -= 1
    own.fields.pointee.count -= 1
    return element
  }
}
