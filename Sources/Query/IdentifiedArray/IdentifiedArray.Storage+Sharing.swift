// How a large array is changed at its end while a copy of it is alive, as when a handler keeps each state
// of a mutation: only the elements from the seam on are copied. Once these are many, their storage is stood on
// in turn; and once more have come upon that, both become one, which stands on the first.

extension IdentifiedArray.Storage {
  /// An array with no more elements than this is copied as a whole.
  @inlinable
  static var flatCapacity: Int { 256 }

  /// Of no more elements than this, all from the seam on are copied with each change.
  @inlinable
  static var copiedCapacity: Int { 32 }

  /// Whether so many elements at the end of an array are copied now and then, rather than all. That is weighed
  /// against copying all of them less often: that frees as many as it copies, and few of them are in the
  /// processor's cache.
  @inlinable
  static func isEnd(_ length: Int, of count: Int) -> Bool { length * length <= 256 * count }

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
    fields.pointee.base.unsafelyUnwrapped.slot(position)
  }

  @inlinable
  @inline(never)
  func basePosition(of id: ID) -> Int? {
    // The base may still have elements that were removed from the front here, and others behind the seam.
    guard let position = fields.pointee.base?.position(of: id), position >= head, position < seam
    else { return nil }
    return position
  }

  /// The positions by id, of all storages.
  @inlinable
  func joinedIndex() -> [ID: Int]? {
    guard let base = fields.pointee.base else { return fields.pointee.index }
    return joinedIndex(with: base.joinedIndex())
  }

  /// The positions by id, of this storage and of the base.
  ///
  /// - Parameter baseIndex: The positions by id, of the base.
  @inlinable
  func joinedIndex(with baseIndex: [ID: Int]?) -> [ID: Int]? {
    guard let base = fields.pointee.base, var index = baseIndex else { return nil }
    for position in base.head..<Swift.min(head, base.end) {
      index[base.slot(position).pointee!.id] = nil
    }
    for position in seam..<base.end { index[base.slot(position).pointee!.id] = nil }
    for position in ownHead..<end { index[slot(position).pointee!.id] = position }
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
    let base = fields.pointee.base ?? self
    let isMerged = base.isLayered && start <= base.seam
    let new = layered(
      on: isMerged ? base.fields.pointee.base.unsafelyUnwrapped : base, from: start,
      slotCount: slotCount, moving: moving)
    if start == seam {
      new.fields.pointee.index = moving ? fields.pointee.index.take() : fields.pointee.index
    } else if isMerged, start == base.seam {
      new.fields.pointee.index = joinedIndex(with: base.fields.pointee.index)
    }
    if new.fields.pointee.index == nil, end - start > Self.smallCapacity { new.buildIndex() }
    return new
  }

  /// The same without an index, on a storage that has the elements before the position.
  @inlinable
  func layered(
    on base: IdentifiedArray.Storage, from start: Int, slotCount: Int, moving: Bool = false
  ) -> IdentifiedArray.Storage {
    let new = Self.make(slotCount: slotCount)
    new.fields.pointee.head = head
    new.fields.pointee.span = span
    new.fields.pointee.count = count
    new.fields.pointee.seam = start
    new.fields.pointee.base = base
    for position in start..<end {
      new.slot(position).pointee = moving ? slot(position).pointee.take() : slot(position).pointee
    }
    return new
  }

  /// A storage with the same elements, and with slots of its own for those from a position on.
  ///
  /// - Parameters:
  ///   - position: The position, at most the end.
  ///   - extra: For how many more elements there is to be room.
  ///   - isUnique: Whether this storage may lose its elements.
  /// - Returns: The storage; nil if it is better to copy all elements.
  @inlinable
  func withOwnEnd(
    from position: Int, adding extra: Int, isUnique: Bool
  ) -> IdentifiedArray.Storage? {
    func slotCount(from start: Int) -> Int {
      Self.slotCount(for: end - start + Swift.max(extra, 1))
    }
    func layered(from start: Int, moving: Bool = false) -> IdentifiedArray.Storage {
      self.layered(from: start, slotCount: slotCount(from: start), moving: moving)
    }
    let start = Swift.min(position, isLayered ? seam : end)
    if isUnique, start == seam {
      return end - start <= count / 2 ? layered(from: start, moving: true) : nil
    }
    if end - start <= Self.copiedCapacity { return layered(from: start) }
    guard isLayered, let base = fields.pointee.base else {
      return Self.isEnd(end - start, of: count) ? layered(from: start) : nil
    }
    let baseStart = base.isLayered ? Swift.min(position, base.seam) : start
    guard Self.isEnd(end - baseStart, of: count) else { return nil }
    if base.isLayered || end - position > Self.copiedCapacity { return layered(from: baseStart) }
    return self.layered(on: self, from: position, slotCount: slotCount(from: position))
  }

  /// Moves the elements from the seam on into the base, and returns the base; nil if another value still
  /// uses the base.
  @inlinable
  func joinedWithBase() -> IdentifiedArray.Storage? {
    guard isKnownUniquelyReferenced(&fields.pointee.base), var base = fields.pointee.base.take()
    else { return nil }
    while base.end > seam {
      base.dropOwn(base.end - 1)
      base.fields.pointee.span -= 1
    }
    while base.head < head {
      if base.head >= base.seam { base.dropOwn(base.head) }
      base.fields.pointee.head += 1
      base.fields.pointee.span -= 1
    }
    base.fields.pointee.count = base.span
    if base.isLayered, end - base.seam > base.slotCount {
      let slotCount = Self.slotCount(for: end - base.seam)
      base = base.layered(from: base.seam, slotCount: slotCount, moving: true)
    } else if !base.isLayered, span > base.slotCount {
      base = base.relocated(slotCount: Self.slotCount(for: span), moving: true)
    }
    for position in seam..<end {
      base.fields.pointee.span += 1
      base.occupy(position, with: slot(position).pointee.take()!)
    }
    return base
  }

  /// Frees an element that has a slot here.
  @inlinable
  func dropOwn(_ position: Int) {
    let element = slot(position).pointee.take()!
    fields.pointee.index?[element.id] = nil
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
    if isUnique {
      while storage!.isLayered, let joined = storage!.joinedWithBase() { storage = joined }
      if !storage!.isLayered { return ownStorage(adding: extra) }
    }
    let old = storage!
    if isUnique, position >= old.seam, old.end - old.seam + extra <= old.slotCount { return old }
    guard old.span == old.count,
      let new = old.withOwnEnd(from: position, adding: extra, isUnique: isUnique)
    else { return ownStorage(adding: extra) }
    storage = new
    return new
  }

  /// Leaves the first element to the base of the storage, without a look at it.
  ///
  /// - Returns: Whether it did; not if this value has no base, or drops it because it no longer pays off.
  @inlinable
  mutating func leaveFirstToBase() -> Bool {
    let end = storage!.end
    let own = ownStorage(from: end)
    guard own.isLayered, let base = own.fields.pointee.base else { return false }
    let bottom = base.fields.pointee.base ?? base
    if own.head + 1 >= own.seam || (own.head - bottom.head) * 2 > bottom.span { return false }
    own.fields.pointee.head += 1
    own.fields.pointee.span -= 1
    own.fields.pointee.count -= 1
    return true
  }
}
