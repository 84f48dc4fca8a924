/// An unordered bag of values that are found by their paths.
///
/// ```swift
/// var stores = QueryPathableCollection([userStore, postsStore])
/// stores[["users", 3]]  // The store with exactly this path.
/// stores.collection(matching: ["users"])  // All whose paths begin so.
/// stores.removeAll(matching: ["users", 3])
/// ```
///
/// It holds one element a path: a second one replaces the first. An element is kept under the path
/// that it has when it is put in, which must not change while it is there.
///
/// It is an index by path: a look-up, exact or by prefix, costs O(*d*) in the length of the path,
/// whatever the number of elements that do not match. A copy costs O(1), and so does holding one: an
/// edit copies O(*d* log *n*) of what other copies hold as well, in steps of 32, and shares the rest.
/// It keeps no order, and two equal collections may be walked in different ones.
public struct QueryPathableCollection<Element: QueryPathable> {
  @usableFromInline
  package var trie: PathTrie<Element>

  /// Makes an empty collection.
  @inlinable
  public init() {
    self.trie = PathTrie()
  }

  /// Makes a collection of the elements of a sequence.
  ///
  /// - Parameter sequence: The elements. Of several with one path the last is kept.
  /// - Complexity: O(*n*) in the length of the sequence.
  @inlinable
  public init(_ sequence: some Sequence<Element>) {
    self.init()
    for element in sequence { update(element) }
  }

  @inlinable
  init(trie: PathTrie<Element>) {
    self.trie = trie
  }
}

extension QueryPathableCollection: ExpressibleByArrayLiteral {
  /// Makes a collection of the elements of the literal. Of several with one path the last is kept.
  @inlinable
  public init(arrayLiteral elements: Element...) {
    self.init(elements)
  }
}

extension QueryPathableCollection: Sendable where Element: Sendable {}

// MARK: - Looking up

extension QueryPathableCollection {
  /// The element whose path is exactly the given one, or nil if there is none.
  ///
  /// - Complexity: O(*d*) in the length of the path.
  @inlinable
  public subscript(path: QueryPath) -> Element? {
    trie.element(at: path)
  }

  /// The paths of all elements.
  ///
  /// - Complexity: O(*n*) in the number of elements.
  public var paths: Set<QueryPath> {
    var paths = Set<QueryPath>(minimumCapacity: count)
    for element in self { paths.insert(element.path) }
    return paths
  }

  /// The elements whose paths begin with a path.
  ///
  /// - Parameter path: The prefix. The empty path is a prefix of all.
  /// - Returns: A collection of these elements, under their whole paths.
  /// - Complexity: O(*d*) in the length of the path, whatever the number of elements.
  @inlinable
  public func collection(matching path: QueryPath) -> Self {
    Self(trie: trie.restricted(to: path))
  }
}

// MARK: - Editing

extension QueryPathableCollection {
  /// Adds an element, replacing the one at the same path, if any.
  ///
  /// - Parameter element: The element, which is kept under the path that it has now.
  /// - Complexity: O(*d*) in the length of the path, amortised.
  @inlinable
  public mutating func update(_ element: Element) {
    trie.update(element, at: element.path)
  }

  /// Puts an element in unless there is one at its path.
  ///
  /// - Parameter element: The element.
  /// - Returns: The element that is there.
  /// - Complexity: O(*d*) in the length of the path.
  @inlinable
  mutating func insert(_ element: Element) -> Element {
    let path = element.path
    guard let present = trie.update(element, at: path) else { return element }
    trie.update(present, at: path)
    return present
  }

  /// Removes the element whose path is exactly the given one.
  ///
  /// - Parameter path: The path of the element.
  /// - Returns: The element, or nil if there was none.
  /// - Complexity: O(*d*) in the length of the path.
  @inlinable
  @discardableResult
  public mutating func removeValue(forPath path: QueryPath) -> Element? {
    trie.removeElement(at: path)
  }

  /// Removes an element.
  ///
  /// - Parameter index: The place of the element, an index of this very collection. All indices of
  ///   it are invalid afterwards.
  /// - Returns: The element.
  /// - Complexity: O(*d*) in the length of the element's path.
  @inlinable
  @discardableResult
  public mutating func remove(at index: Index) -> Element {
    let element = self[index]
    trie.removeElement(at: element.path)
    return element
  }

  /// Removes all elements.
  ///
  /// - Parameter keepCapacity: Without effect: there is no capacity.
  @inlinable
  public mutating func removeAll(keepingCapacity keepCapacity: Bool = false) {
    trie = PathTrie()
  }

  /// Removes the elements whose paths begin with a path.
  ///
  /// - Parameter path: The prefix. The empty path is a prefix of all.
  /// - Complexity: O(*d*) in the length of the path, and the time to release what no other copy
  ///   holds.
  @inlinable
  public mutating func removeAll(matching path: QueryPath) {
    trie.removeSubtrie(at: path)
  }

  /// Removes the elements that a closure picks.
  ///
  /// - Parameter shouldBeRemoved: Whether to remove an element.
  /// - Complexity: O(*n*) in the number of elements.
  @inlinable
  public mutating func removeAll(where shouldBeRemoved: (Element) -> Bool) {
    trie = trie.filtered { !shouldBeRemoved($0) }
  }

  /// Does nothing: there is no capacity, as elements are held in small nodes of their own.
  ///
  /// - Parameter minimumCapacity: A number of elements.
  @inlinable
  public mutating func reserveCapacity(_ minimumCapacity: Int) {}
}

// MARK: - Whole collections

extension QueryPathableCollection {
  /// Makes a collection of a closure's result for each element, without hashing a path.
  ///
  /// - Parameter transform: Makes an element of the same path, or nil to leave it out.
  /// - Returns: The elements made.
  /// - Complexity: O(*n*) in the number of elements.
  @inlinable
  package func compactMapElements<T: QueryPathable>(
    _ transform: (Element) -> T?
  ) -> QueryPathableCollection<T> {
    QueryPathableCollection<T>(trie: trie.compactMapped(transform))
  }

  /// Finds the paths that only one of two collections has, and those where they differ.
  ///
  /// - Parameters:
  ///   - other: The newer collection; this one is the older state.
  ///   - isSame: Whether an element stands for another one of its path; by default any does.
  ///   - body: Called with each element of this collection and nil, then with nil and each element of
  ///     the other.
  /// - Complexity: If one is an edited copy of the other: the number of edits times the logarithm
  ///   of the number of elements. At worst, O(*n*) in the number of both.
  @inlinable
  package func forEachDifference(
    to other: Self,
    by isSame: (Element, Element) -> Bool = { _, _ in true },
    _ body: (_ path: QueryPath, _ old: Element?, _ new: Element?) -> Void
  ) {
    trie.forEachMissing(from: other.trie, by: isSame) { body($0.path, $0, nil) }
    other.trie.forEachMissing(from: trie, by: isSame) { body($0.path, nil, $0) }
  }
}

extension QueryPathableCollection: Equatable where Element: Equatable {
  /// Tells whether two collections have equal elements under the same paths, in whatever order they
  /// were added. Parts that both share are skipped.
  @inlinable
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.trie.isEqual(to: rhs.trie, by: ==)
  }
}

extension QueryPathableCollection: Hashable where Element: Hashable {
  /// Hashes the elements, in whatever order they were added.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    hasher.combine(reduce(0) { $0 &+ $1.hashValue })
  }
}
