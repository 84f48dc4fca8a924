// MARK: - Adding

extension IdentifiedArray.Storage {
  /// Opens an empty position at an offset, from 0 up to and including `count`. There must be a free
  /// slot. Nothing moves at either end; in between the shorter side does.
  @inlinable
  func openGap(at offset: Int) -> Int {
    if offset > 0, offset < count { compact() }
    fields.pointee.span += 1
    if offset == count { return end - 1 }
    if offset <= count / 2 {
      fields.pointee.head -= 1
      for position in head..<head + offset { move(position + 1, to: position) }
    } else {
      for position in (head + offset + 1..<end).reversed() { move(position - 1, to: position) }
    }
    return head + offset
  }

  /// Puts an element whose id is not there at an empty position in use.
  @inlinable
  func occupy(_ position: Int, with element: Element) {
    slot(position).pointee = element
    fields.pointee.count += 1
    if fields.pointee.index != nil {
      fields.pointee.index![element.id] = position
    } else if end - ownHead > Self.smallCapacity {
      buildIndex()
    }
  }

  @inlinable
  @inline(never)
  func buildIndex() {
    var index = [ID: Int](minimumCapacity: slotCount)
    for position in ownHead..<end { index[slot(position).pointee!.id] = position }
    fields.pointee.index = index
  }
}

// MARK: - Taking out

extension IdentifiedArray.Storage {
  /// Accounts for an element that the caller took out of its slot.
  @inlinable
  func vacated(_ position: Int, id: ID) {
    fields.pointee.count -= 1
    guard fields.pointee.index != nil else { return closeGap(at: position) }
    fields.pointee.index![id] = nil
    if position != head, position != end - 1 {
      fields.pointee.holes.insert(slotNumber(position), of: slotCount)
    }
    trim()
    if count <= Self.indexFloor {
      fields.pointee.index = nil
      compact()
    } else if (span - count) * 2 > span {
      compact()
    }
  }

  /// Lets the first and the last position in use hold an element again.
  @inlinable
  func trim() {
    while span > 0, slot(head).pointee == nil {
      fields.pointee.holes.remove(slotNumber(head))
      fields.pointee.head += 1
      fields.pointee.span -= 1
    }
    while span > 0, slot(end - 1).pointee == nil {
      fields.pointee.holes.remove(slotNumber(end - 1))
      fields.pointee.span -= 1
    }
  }

  /// Moves the shorter side over an empty position, the only one in use.
  @inlinable
  func closeGap(at gap: Int) {
    if gap - head < end - 1 - gap {
      for position in (head..<gap).reversed() { move(position, to: position + 1) }
      fields.pointee.head += 1
    } else {
      for position in gap..<end - 1 { move(position + 1, to: position) }
    }
    fields.pointee.span -= 1
  }

  /// Closes all holes.
  @inlinable
  func compact() {
    guard span > count else { return }
    var target = head
    for position in head..<end where slot(position).pointee != nil {
      if position != target { move(position, to: target) }
      target += 1
    }
    fields.pointee.span = count
    fields.pointee.holes.removeAll()
  }
}

// MARK: - Moving

extension IdentifiedArray.Storage {
  @inlinable
  func move(_ position: Int, to target: Int) {
    slot(target).pointee = slot(position).pointee.take()
    if fields.pointee.index != nil {
      fields.pointee.index![slot(target).pointee!.id] = target
    }
  }

  /// Puts an element in the place of another one, with its own id.
  @inlinable
  func replace(_ position: Int, id: ID, with element: Element) {
    slot(position).pointee = element
    guard fields.pointee.index != nil else { return }
    fields.pointee.index![id] = nil
    fields.pointee.index![element.id] = position
  }

  @inlinable
  func swap(_ first: Int, _ second: Int) {
    let element = slot(first).pointee.take()
    move(second, to: first)
    slot(second).pointee = element
    if fields.pointee.index != nil {
      fields.pointee.index![slot(second).pointee!.id] = second
    }
  }
}
