/// The key of a query's store: an array of hashable values.
///
/// ```swift
/// let path: QueryPath = ["users", 3, "posts"]
/// QueryPath(["users", 3]).isPrefix(of: path)  // true
/// ```
///
/// Paths are equal, and have equal hashes, if their elements are equal, however they were built:
/// `QueryPath("users") == ["users"]`. A path is neither a file path nor a URL: nothing is joined,
/// split or normalised.
public struct QueryPath: Hashable, Sendable {
  @usableFromInline
  var elements: [Element]

  /// Makes the empty path, which is a prefix of every path.
  @inlinable
  public init() {
    self.elements = []
  }

  /// Makes a path of an element for each value.
  ///
  /// - Parameter elements: The values of the steps, in order.
  public init(_ elements: some Sequence<any Hashable & Sendable>) {
    self.elements = elements.map { Element($0) }
  }

  /// Makes a path of elements.
  ///
  /// - Parameter elements: The steps, in order.
  @inlinable
  public init(elements: some Sequence<Element>) {
    self.elements = Array(elements)
  }

  /// Makes a path of one element.
  ///
  /// An array, such as `[1, "a"]`, is not one element, but the elements of the path.
  /// ``init(element:)`` makes a path whose only element is an array, and so does appending one.
  ///
  /// - Parameter element: The value of the only step.
  @inlinable
  @_disfavoredOverload
  public init(_ element: some Hashable & Sendable) {
    self.elements = [Element(erasing: element)]
  }

  /// Makes a path of one element.
  ///
  /// - Parameter element: The only step.
  @inlinable
  public init(element: Element) {
    self.elements = [element]
  }
}

extension QueryPath: ExpressibleByArrayLiteral {
  /// Makes a path of an element for each value of the literal.
  public init(arrayLiteral elements: any Hashable & Sendable...) {
    self.init(elements)
  }
}

// MARK: - Prefixes

extension QueryPath {
  /// Tells whether `other` begins with the elements of this path.
  ///
  /// - Parameter other: The path that may begin with this one.
  /// - Returns: Whether it does. The empty path is a prefix of every path, and each path of itself.
  /// - Complexity: O(*n*) in the length of this path.
  public func isPrefix(of other: QueryPath) -> Bool {
    elements.count <= other.elements.count && other.elements.starts(with: elements)
  }
}

extension Collection<QueryPath> {
  /// Those that no other one is a prefix of, each once: what begins with any of the paths begins with
  /// exactly one of these.
  package var outermost: [QueryPath] {
    if self.count < 2 { return Array(self) }
    let all = Set(self)
    var found = Set<QueryPath>()
    return self.filter { path in
      let isCovered = (0..<path.elements.count).contains { count in
        all.contains(QueryPath(elements: path.elements.prefix(count)))
      }
      return !isCovered && found.insert(path).inserted
    }
  }
}

// MARK: - Appending

extension QueryPath {
  /// Adds the elements of another path to the end.
  ///
  /// - Parameter other: The path whose elements are added.
  /// - Complexity: O(*n*) in the length of `other`, amortised.
  public mutating func append(_ other: QueryPath) {
    elements.append(contentsOf: other.elements)
  }

  /// Adds a value to the end, as one element.
  ///
  /// - Parameter element: The value of the new last step.
  @inlinable
  public mutating func append(_ element: some Hashable & Sendable) {
    elements.append(Element(erasing: element))
  }

  /// Adds an element to the end.
  ///
  /// - Parameter element: The new last step.
  @inlinable
  public mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// This path followed by the elements of another.
  ///
  /// - Parameter other: The path whose elements follow.
  /// - Returns: The longer path.
  /// - Complexity: O(*n*) in the length of both.
  public func appending(_ other: QueryPath) -> QueryPath {
    QueryPath(elements: elements + other.elements)
  }

  /// This path followed by a value, as one element.
  ///
  /// - Parameter element: The value of the last step of the longer path.
  /// - Returns: The longer path.
  /// - Complexity: O(*n*) in the length of this path.
  public func appending(_ element: some Hashable & Sendable) -> QueryPath {
    appending(Element(erasing: element))
  }

  /// This path followed by an element.
  ///
  /// - Parameter element: The last step of the longer path.
  /// - Returns: The longer path.
  /// - Complexity: O(*n*) in the length of this path.
  public func appending(_ element: Element) -> QueryPath {
    var copy = self
    copy.append(element)
    return copy
  }
}

// MARK: - Description

extension QueryPath: CustomStringConvertible {
  /// The elements in the form `QueryPath(["users", 3])`.
  public var description: String {
    "QueryPath([\(elements.map(\.description).joined(separator: ", "))])"
  }
}
