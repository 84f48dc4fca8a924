extension IdentifiedArray {
  /// A ring of slots, each of which holds an element or `nil`.
  ///
  /// An element has a *position*, an integer that stays the same while the ring grows at either end
  /// and while it moves to more slots; the slot of a position is its remainder. So the index from ids
  /// to positions is not touched by an insertion at the front. The first and the last position in use
  /// always hold an element; a `nil` between them is a hole. Without an index there are no holes.
  ///
  /// A storage may stand on the one that a large array shared when it was changed at its end: the
  /// elements before the *seam* are in that one, which neither changes while both use it. See
  /// `IdentifiedArray.Storage+Sharing.swift`.
  @usableFromInline
  final class Storage: ManagedBuffer<Header, Element?> {
    deinit {
      _ = withUnsafeMutablePointers { header, slots in
        slots.deinitialize(count: header.pointee.slotCount)
      }
    }
  }

  @usableFromInline
  struct Header {
    /// The number of slots, a power of two. Every slot is initialised.
    @usableFromInline let slotCount: Int
    /// The position of the first element.
    @usableFromInline var head = 0
    /// The number of positions in use, holes included.
    @usableFromInline var span = 0
    @usableFromInline var count = 0
    /// The positions by id, or `nil` if there are so few elements that a search is used.
    ///
    /// Only of positions from the seam on.
    @usableFromInline var index: [ID: Int]?
    @usableFromInline var holes = SlotSet()
    /// The first position that has a slot of this storage, if it stands on another one.
    @usableFromInline var seam = Int.min
    /// The storage that has the elements before the seam. It stands on no other one, or on one that does
    /// not and has an earlier seam.
    @usableFromInline var base: Storage?

    @inlinable
    init(slotCount: Int) { self.slotCount = slotCount }
  }
}

// MARK: - Making

extension IdentifiedArray.Storage {
  /// The number of elements up to which there is no index, and of slots that an emptied array keeps.
  @inlinable
  static var smallCapacity: Int { 8 }

  /// The number of elements at which the index is given up again: fewer than are needed for one, so
  /// that a count that goes up and down around the limit does not build it each time.
  @inlinable
  static var indexFloor: Int { 4 }

  /// The smallest number of slots for a number of elements.
  @inlinable
  static func slotCount(for count: Int) -> Int {
    count <= 1 ? 1 : 1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)
  }

  @inlinable
  static func make(slotCount: Int) -> IdentifiedArray.Storage {
    let buffer = create(minimumCapacity: slotCount) { _ in .init(slotCount: slotCount) }
    let storage = unsafeDowncast(buffer, to: IdentifiedArray.Storage.self)
    storage.slots.initialize(repeating: nil, count: slotCount)
    return storage
  }

  /// Another storage with the same elements at the same positions, which stands on no other.
  ///
  /// - Parameters:
  ///   - slotCount: The number of its slots, at least `span`.
  ///   - moving: Whether this storage may lose its elements, because it is about to be freed.
  @inlinable
  func relocated(slotCount: Int, moving: Bool) -> IdentifiedArray.Storage {
    let new = Self.make(slotCount: slotCount)
    new.fields.pointee.head = head
    new.fields.pointee.span = span
    new.fields.pointee.count = count
    if isLayered {
      new.fields.pointee.index = joinedIndex()
    } else {
      new.fields.pointee.index = moving ? fields.pointee.index.take() : fields.pointee.index
    }
    for position in head..<end {
      let element =
        moving && position >= seam ? slot(position).pointee.take() : slot(position).pointee
      if element == nil {
        new.fields.pointee.holes.insert(position & (slotCount - 1), of: slotCount)
      } else {
        new.slot(position).pointee = element
      }
    }
    return new
  }
}

// MARK: - Reading

extension IdentifiedArray.Storage {
  // Both pointers stay valid as long as the storage, whose tail allocation never moves. Reached by
  // pointer, the header costs no dynamic exclusivity check.

  @inlinable
  var fields: UnsafeMutablePointer<IdentifiedArray.Header> {
    withUnsafeMutablePointerToHeader { $0 }
  }

  @inlinable
  var slots: UnsafeMutablePointer<Element?> { withUnsafeMutablePointerToElements { $0 } }

  @inlinable
  var slotCount: Int { fields.pointee.slotCount }

  @inlinable
  var head: Int { fields.pointee.head }

  @inlinable
  var span: Int { fields.pointee.span }

  @inlinable
  var count: Int { fields.pointee.count }

  /// The position after the last element.
  @inlinable
  var end: Int { head + span }

  @inlinable
  func slotNumber(_ position: Int) -> Int { position & (slotCount - 1) }

  /// The slot of a position. One before the seam belongs to another storage, and is only read.
  @inlinable
  func slot(_ position: Int) -> UnsafeMutablePointer<Element?> {
    position >= seam ? slots + slotNumber(position) : baseSlot(position)
  }

  /// The position of the element with the id.
  @inlinable
  func position(of id: ID) -> Int? {
    guard count > 0 else { return nil }
    // The element that was added last is the one most often looked up.
    var position = end - 1
    if slot(position).pointee!.id == id { return position }
    if fields.pointee.index != nil {
      return fields.pointee.index![id] ?? (isLayered ? basePosition(of: id) : nil)
    }
    let first = ownHead
    while position > first {
      position -= 1
      if slot(position).pointee!.id == id { return position }
    }
    return isLayered ? basePosition(of: id) : nil
  }

  /// The position of the element at an offset, which must be in range.
  @inlinable
  func position(at offset: Int) -> Int {
    if span == count { return head + offset }
    if offset == count - 1 { return end - 1 }
    let first = slotNumber(head)
    if first + span <= slotCount {
      return head + fields.pointee.holes.number(ofFree: offset, from: first) - first
    }
    let untilWrap = slotCount - first
    let liveUntilWrap = untilWrap - fields.pointee.holes.count(in: first..<first + untilWrap)
    return offset < liveUntilWrap
      ? head + fields.pointee.holes.number(ofFree: offset, from: first) - first
      : head + untilWrap + fields.pointee.holes.number(ofFree: offset - liveUntilWrap, from: 0)
  }

  /// The number of elements before a position.
  @inlinable
  func offset(of position: Int) -> Int {
    if span == count { return position - head }
    let first = slotNumber(head)
    let distance = position - head
    let untilWrap = min(distance, slotCount - first)
    return distance
      - fields.pointee.holes.count(in: first..<first + untilWrap)
      - fields.pointee.holes.count(in: 0..<distance - untilWrap)
  }
}
