// MARK: - By id

extension IdentifiedArray {
  /// Puts an element in the place of the one with its id, or appends it if there is none.
  ///
  /// - Parameter element: The element.
  /// - Returns: The element that was there; `nil` if it was appended.
  /// - Complexity: O(1) amortised if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func updateOrAppend(_ element: Element) -> Element? {
    if let old = update(element) { return old }
    appendNew(element)
    return nil
  }

  /// Puts an element in the place of the one with its id, which keeps its position, or inserts it before
  /// the one at a position if there is none.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - index: A position, from 0 up to and including `count`.
  /// - Returns: The element that was there, `nil` if there was none, and the position of the new one.
  /// - Complexity: O(1) amortised at 0 and at `count`, and as for ``index(id:)`` if the id is there;
  ///   otherwise, or if the storage is shared, O(*n*), where *n* is the number of elements.
  @inlinable
  @discardableResult
  public mutating func updateOrInsert(
    _ element: Element, at index: Int
  ) -> (old: Element?, index: Int) {
    precondition(index >= 0 && index <= count, Self.rangeMessage(index, count: count))
    if let old = update(element) { return (old, self.index(id: element.id)!) }
    return (nil, insert(element, at: index).index)
  }

  /// Puts an element in the place of the one with an id. Their ids may differ.
  ///
  /// - Parameters:
  ///   - id: An element's id.
  ///   - element: The new element. That another element has its id already is a programmer's mistake,
  ///     and stops the program.
  /// - Returns: Whether there was an element with the id; if not, nothing has changed.
  /// - Complexity: O(1) if the storage is not shared.
  @inlinable
  @discardableResult
  public mutating func replace(id: ID, with element: Element) -> Bool {
    guard let position = storage?.position(of: id) else { return false }
    precondition(element.id == id || !contains(id: element.id), Self.equalIDsMessage(element.id))
    ownStorage().replace(position, id: id, with: element)
    return true
  }

  /// Puts an element in the place of the one with its id, and returns that; `nil` if there is none.
  @inlinable
  mutating func update(_ element: Element) -> Element? {
    guard let position = storage?.position(of: element.id) else { return nil }
    let slot = ownStorage(from: position).slot(position)
    defer { slot.pointee = element }
    return slot.pointee
  }
}

// MARK: - By position

extension IdentifiedArray {
  /// Moves the elements at some positions, which stay in their order, before the element that is at
  /// another position now, as the `onMove` of a list asks for.
  ///
  /// ```swift
  /// array.move(fromOffsets: [0, 3], toOffset: 2)  // a b c d e becomes b a d c e
  /// ```
  ///
  /// - Parameters:
  ///   - offsets: Positions, from 0 up to but not including `count`, in any order, such as an
  ///     `IndexSet`, a range or an array. One that comes twice counts once.
  ///   - destination: A position before the move, from 0 up to and including `count`.
  /// - Complexity: O(*n* + *m*), where *n* is the number of elements and *m* that of the offsets.
  @inlinable
  public mutating func move(fromOffsets offsets: some Sequence<Int>, toOffset destination: Int) {
    precondition(
      destination >= 0 && destination <= count, Self.rangeMessage(destination, count: count))
    guard let isMoved = marks(at: offsets) else { return }
    var before = [Element]()
    before.reserveCapacity(count)
    var moved = [Element]()
    var after = [Element]()
    for (index, element) in enumerated() {
      if isMoved[index] {
        moved.append(element)
      } else if index < destination {
        before.append(element)
      } else {
        after.append(element)
      }
    }
    self = Self(uniqueElements: before + moved + after)
  }

  /// Whether each position is among some offsets; `nil` if there are none.
  @inlinable
  func marks(at offsets: some Sequence<Int>) -> [Bool]? {
    var marks: [Bool]?
    for offset in offsets {
      precondition(offset >= 0 && offset < count, Self.rangeMessage(offset, count: count))
      if marks == nil { marks = Array(repeating: false, count: count) }
      marks![offset] = true
    }
    return marks
  }
}
