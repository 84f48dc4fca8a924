/// An ordered collection of identifiable elements, in which an id occurs at most once.
///
/// Elements keep the order in which they were put in, and are reached by position or by id:
///
/// ```swift
/// var pages: IdentifiedArrayOf<Page> = [Page(id: 1), Page(id: 2)]
/// pages.append(Page(id: 3))
/// pages[id: 2]?.title = "Two"
/// pages[id: 1] = nil
/// pages.insert(Page(id: 0), at: 0)
/// ```
///
/// Looking up by id takes constant time, and so do, amortised, appending, inserting at the front and
/// removing anywhere. Removing from the middle of more than eight elements leaves a hole, which is
/// closed with the others when half of the places are holes. While there are holes, finding the
/// element at a position counts over them, 64 places a step; iterating never does.
///
/// An empty array takes one word and no allocation. Copies share their elements until one of them is
/// changed.
///
/// It is not a set (order matters to `==`), and an element's id cannot change in place: put another
/// element there with ``replace(id:with:)``. Elements that are not `Identifiable` go in as
/// ``Identified``.
public struct IdentifiedArray<ID, Element: Identifiable> where Element.ID == ID {
  /// `nil` if nothing was ever added, or if a large array became empty.
  @usableFromInline
  var storage: Storage?

  /// Creates an empty array, without an allocation.
  @inlinable
  public init() {}

  /// Creates an array of the elements of a sequence, in its order.
  ///
  /// - Parameter elements: The elements. Two elements with one id are a programmer's mistake, and
  ///   stop the program.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public init(uniqueElements elements: some Sequence<Element>) {
    self.init()
    reserveCapacity(elements.underestimatedCount)
    for element in elements {
      let isNew = append(element).inserted
      precondition(isNew, Self.equalIDsMessage(element.id))
    }
  }

  /// Creates an array of the elements of a sequence, in its order, and makes one of those with equal
  /// ids.
  ///
  /// ```swift
  /// let newest = IdentifiedArray(versions, uniquingIDsWith: { $0.date > $1.date ? $0 : $1 })
  /// ```
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - combine: Makes one of two elements with one id: of the one that is in the array, which the
  ///     result takes the place of, and of a later one. A result with another id is a programmer's
  ///     mistake, and stops the program.
  /// - Throws: What `combine` throws.
  /// - Complexity: O(*n*), where *n* is the number of elements of the sequence.
  @inlinable
  public init(
    _ elements: some Sequence<Element>,
    uniquingIDsWith combine: (Element, Element) throws -> Element
  ) rethrows {
    self.init()
    reserveCapacity(elements.underestimatedCount)
    for element in elements {
      guard let old = self[id: element.id] else {
        appendNew(element)
        continue
      }
      let new = try combine(old, element)
      precondition(new.id == old.id, Self.changedIDMessage(from: old.id, to: new.id))
      _ = update(new)
    }
  }
}

/// An ``IdentifiedArray`` whose ids are those of its elements.
public typealias IdentifiedArrayOf<Element: Identifiable> = IdentifiedArray<Element.ID, Element>

// MARK: - By id

extension IdentifiedArray {
  /// The ids of the elements, in order.
  ///
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public var ids: [ID] { map(\.id) }

  /// Whether there is an element with the id.
  ///
  /// - Parameter id: An element's id.
  @inlinable
  public func contains(id: ID) -> Bool {
    storage?.position(of: id) != nil
  }

  /// The position of the element with the id, or `nil` if there is none.
  ///
  /// - Parameter id: An element's id.
  /// - Complexity: O(1) if there are no holes, otherwise O(*n* / 64), where *n* is the number of
  ///   elements.
  @inlinable
  public func index(id: ID) -> Int? {
    guard let storage, let position = storage.position(of: id) else { return nil }
    return storage.offset(of: position)
  }

  /// The element with the id, or `nil` if there is none.
  ///
  /// An element is edited in place, without being copied. Assigning `nil` removes the element;
  /// assigning an element whose id is new appends it. Assigning an element with another id than the
  /// subscript's is a programmer's mistake, and stops the program.
  ///
  /// - Parameter id: An element's id.
  @inlinable
  public subscript(id id: ID) -> Element? {
    get {
      guard let storage, let position = storage.position(of: id) else { return nil }
      return storage.slot(position).pointee
    }
    _modify {
      if let position = storage?.position(of: id) {
        let storage = ownStorage()
        defer {
          if let element = storage.slot(position).pointee {
            precondition(element.id == id, Self.changedIDMessage(from: id, to: element.id))
          } else {
            storage.vacated(position, id: id)
            settle()
          }
        }
        yield &storage.slot(position).pointee
      } else {
        var element: Element?
        defer {
          if let element {
            precondition(element.id == id, Self.changedIDMessage(from: id, to: element.id))
            appendNew(element)
          }
        }
        yield &element
      }
    }
  }

  /// Edits the element with the id in place.
  ///
  /// - Parameters:
  ///   - id: An element's id.
  ///   - body: The edit, which must leave the id as it is.
  /// - Returns: What `body` returns, or `nil` if there is no such element, in which case it is not
  ///   called.
  /// - Throws: What `body` throws; its edit up to there stays.
  @inlinable
  @discardableResult
  package mutating func modify<Output, Failure: Error>(
    id: ID, _ body: (inout Element) throws(Failure) -> Output
  ) throws(Failure) -> Output? {
    guard let position = storage?.position(of: id) else { return nil }
    let storage = ownStorage(from: position)
    defer {
      let newID = storage.slot(position).pointee!.id
      precondition(newID == id, Self.changedIDMessage(from: id, to: newID))
    }
    return try body(&storage.slot(position).pointee!)
  }
}

// MARK: - Messages

extension IdentifiedArray {
  @usableFromInline
  @inline(never)
  static func equalIDsMessage(_ id: ID) -> String {
    """
    Two elements of an IdentifiedArray have the id \(id). Give each element an id of its own, or \
    append them one by one, which leaves out an element whose id is there already.
    """
  }

  @usableFromInline
  @inline(never)
  static func changedIDMessage(from id: ID, to newID: ID) -> String {
    """
    An element with the id \(newID) was written over the element with the id \(id) of an \
    IdentifiedArray. Remove the element first, and then insert the new one.
    """
  }
}
