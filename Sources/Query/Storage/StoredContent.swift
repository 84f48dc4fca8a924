public import FoundationEssentials

/// By what a storage knows the bytes of a stored value again, without the value.
public struct StoredContentMark: Hashable, Sendable {
  private var name: ContentName
  /// How many bytes the value has, coded, with its pages and their ids.
  public var byteCount: Int
  /// The coded id of the page after the last one; nil: there is none.
  public var next: Data?
  /// The coded id of the page before the first one; nil: there is none.
  public var previous: Data?

  /// Creates a mark. See the properties for what each is.
  public init(hash: Data, byteCount: Int, next: Data? = nil, previous: Data? = nil) {
    self.init(ContentName(hash), byteCount, next, previous)
  }

  /// Creates a mark whose hash has 16 bytes.
  ///
  /// - Parameters:
  ///   - hash: The first 8 of the bytes, and the others, as they are in memory.
  package init(hash: (UInt64, UInt64), byteCount: Int, next: Data?, previous: Data?) {
    self.init(.short(hash.0, hash.1), byteCount, next, previous)
  }

  private init(_ name: ContentName, _ byteCount: Int, _ next: Data?, _ previous: Data?) {
    (self.name, self.byteCount) = (name, byteCount)
    (self.next, self.previous) = (next, previous)
  }

  /// The mark of a value that was removed before a storage had it. No bytes have that hash.
  static var ofRemoved: Self { Self(hash: (0, 0), byteCount: 0, next: nil, previous: nil) }

  /// A hash of the bytes, or another name that the storage gives to no other bytes.
  public var hash: Data {
    get { self.name.bytes }
    set { self.name = ContentName(newValue) }
  }

  /// The hash, if it has 16 bytes, and there are no pages beside the ends.
  fileprivate var shortHash: (UInt64, UInt64)? {
    guard case .short(let first, let second) = self.name, self.next == nil, self.previous == nil
    else { return nil }
    return (first, second)
  }
}

/// The hash of a mark. One of 16 bytes, as an ordinary one has, is in place: each read and each write would
/// make and release two objects for it.
private enum ContentName: Hashable, Sendable {
  case short(UInt64, UInt64)
  /// Of any other number of bytes.
  case long(Data)

  init(_ bytes: Data) {
    guard bytes.count == 16 else {
      self = .long(bytes)
      return
    }
    self = bytes.withUnsafeBytes {
      .short(
        $0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
  }

  var bytes: Data {
    switch self {
    case .short(let first, let second): withUnsafeBytes(of: (first, second)) { Data($0) }
    case .long(let bytes): bytes
    }
  }
}

/// What is to be written beside a value: that its server has confirmed it, if it is still what is stored, or
/// that a fetch has failed or the value was invalidated, whatever is stored.
public struct StoredConfirmation: Sendable {
  /// The entry, without its content.
  public let entry: StoredEntry
  /// What the content of the stored entry is, if it is the store's value; nil: the store has none, or no
  /// storage has it. If it is not that, ``StorageWrite/entry()`` has all of a value that was confirmed.
  public let content: StoredContentMark?
  /// Whether the store has a value.
  public let hasValue: Bool
  /// Whether this says nothing of the value: a fetch failed, or the value was invalidated. Then the error
  /// belongs beside the value only if that is the store's, or both have none; what was confirmed or
  /// invalidated meanwhile stays so; another value is invalidated if ``entry`` is, and otherwise stays as
  /// it is. If nothing is stored, an entry without a value is added, but none that somebody has removed.
  public let keepsOtherValue: Bool
}

/// The value that an entry was made of, and in the place of which alone it is to be written.
public struct StoredBasis: Sendable {
  /// By what its content is known; nil: no storage has had it, so that the entry is only ever added.
  public let content: StoredContentMark?
}

/// The mark of a store's value, once a storage has read or written it.
// @unchecked: the variables are guarded by the lock of all writes.
final class StoredContent: @unchecked Sendable {
  @exclusivity(unchecked) private var current = CompactMark.none
  /// Whether the bytes are not those that this release would write: then a value that is confirmed is
  /// written whole.
  @exclusivity(unchecked) private(set) var isOnlyCompared: Bool

  init(_ mark: StoredContentMark? = nil, isOnlyCompared: Bool = false) {
    self.current = CompactMark(mark)
    self.isOnlyCompared = isOnlyCompared
  }

  /// Becomes the mark of another value. Called by the only owner.
  func clear() {
    // Nobody waits for it, and it orders this after what the writing thread has done, which the thread
    // sanitizer does not see in the count of references.
    let old = StorageWrite.lock.withLock { _ in
      defer { (self.current, self.isOnlyCompared) = (.none, false) }
      return self.current
    }
    withExtendedLifetime(old) {}
  }

  var mark: StoredContentMark? {
    get { StorageWrite.lock.withLock { _ in self.current }.mark }
    set {
      let new = CompactMark(newValue)
      // What was there is released after the lock.
      let old = StorageWrite.lock.withLock { _ in
        defer { self.current = new }
        return self.current
      }
      withExtendedLifetime(old) {}
    }
  }
}

/// A mark, in place if it is that of an ordinary value, so that it takes no more room than it needs.
private enum CompactMark: Sendable {
  case none
  /// A hash of 16 bytes, and no ends.
  case short(UInt64, UInt64, byteCount: Int)
  case long(LongMark)

  final class LongMark: Sendable {
    let mark: StoredContentMark

    init(_ mark: StoredContentMark) { self.mark = mark }
  }

  init(_ mark: StoredContentMark?) {
    guard let mark else {
      self = .none
      return
    }
    guard let hash = mark.shortHash else {
      self = .long(LongMark(mark))
      return
    }
    self = .short(hash.0, hash.1, byteCount: mark.byteCount)
  }

  var mark: StoredContentMark? {
    switch self {
    case .none: return nil
    case .long(let long): return long.mark
    case .short(let first, let second, let byteCount):
      return StoredContentMark(
        hash: (first, second), byteCount: byteCount, next: nil, previous: nil)
    }
  }
}

/// Something that a comparison does not look at.
struct NotCompared<Value: Sendable>: Hashable, Sendable {
  var value: Value

  static func == (one: Self, other: Self) -> Bool { true }

  func hash(into hasher: inout Hasher) {}
}
