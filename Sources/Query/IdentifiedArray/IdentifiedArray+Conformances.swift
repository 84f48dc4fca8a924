// MARK: - Literals

extension IdentifiedArray: ExpressibleByArrayLiteral {
  /// Creates an array of the elements of a literal.
  ///
  /// - Parameter elements: The elements. Two elements with one id are a programmer's mistake, and
  ///   stops the program.
  @inlinable
  public init(arrayLiteral elements: Element...) {
    self.init(uniqueElements: elements)
  }
}

// MARK: - Comparing

extension IdentifiedArray: Equatable where Element: Equatable {
  /// Whether two arrays have equal elements in the same order.
  ///
  /// - Complexity: O(*n*), where *n* is the number of elements, but O(1) if the two are unchanged
  ///   copies of one another.
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool {
    if lhs.storage === rhs.storage { return true }
    return lhs.count == rhs.count && lhs.elementsEqual(rhs)
  }
}

extension IdentifiedArray: Hashable where Element: Hashable {
  /// Feeds the elements, in order, to a hasher.
  ///
  /// - Parameter hasher: The hasher.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for element in self { hasher.combine(element) }
  }
}

// MARK: - Sending

// A storage is written only by a value that is its single owner, and read by any; what it holds is
// sendable itself.
extension IdentifiedArray: @unchecked Sendable where ID: Sendable, Element: Sendable {}

// A storage whose elements an iterator reads has two owners, so no thread writes it.
extension IdentifiedArray.Iterator: @unchecked Sendable where ID: Sendable, Element: Sendable {}

// MARK: - Coding

extension IdentifiedArray: Encodable where Element: Encodable {
  /// Encodes the elements as an `Array` of them is encoded.
  ///
  /// - Parameter encoder: The encoder.
  /// - Throws: What the encoder, or an element, throws.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for element in self { try container.encode(element) }
  }
}

extension IdentifiedArray: Decodable where Element: Decodable {
  /// Decodes an array of elements.
  ///
  /// - Parameter decoder: The decoder.
  /// - Throws: `DecodingError.dataCorrupted` if two elements have one id, and what the decoder, or
  ///   an element, throws.
  /// - Complexity: O(*n*), where *n* is the number of elements.
  public init(from decoder: any Decoder) throws {
    self.init()
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      let index = container.currentIndex
      guard append(try container.decode(Element.self)).inserted else {
        throw DecodingError.dataCorruptedError(
          in: container,
          debugDescription: "The element at index \(index) has the id of an earlier element."
        )
      }
    }
  }
}

// MARK: - Describing

extension IdentifiedArray: CustomStringConvertible, CustomReflectable {
  /// The description of an `Array` of the elements.
  public var description: String { elements.description }

  /// A mirror whose children are the elements.
  public var customMirror: Mirror {
    Mirror(self, unlabeledChildren: self, displayStyle: .collection)
  }
}
