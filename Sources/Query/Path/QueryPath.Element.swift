extension QueryPath {
  /// One step of a path: any hashable, sendable value.
  ///
  /// Two elements are equal if their values are equal as `AnyHashable`: `1` and `1.0` are, `1` and
  /// `true` are not. Like `AnyHashable`, an element made from a non-nil optional holds the wrapped
  /// value.
  public struct Element: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline
    let storage: Storage

    /// Makes an element of a value whose type is known only at run time.
    ///
    /// - Parameter value: The value of the step.
    @inlinable
    public init(_ value: any Hashable & Sendable) {
      self.init(erasing: value)
    }

    @inlinable
    init<Value: Hashable & Sendable>(erasing value: Value) {
      if Value.self == String.self {
        self.storage = .text(unsafeBitCast(value, to: String.self))
      } else if Value.self == Int.self {
        self.storage = .integer(unsafeBitCast(value, to: Int.self))
      } else {
        self.storage = Storage(other: value)
      }
    }

    /// The value of the step.
    public var base: any Hashable & Sendable {
      switch self.storage {
      case .text(let text): text
      case .integer(let number): number
      // Cannot fail: the initialisers take nothing else.
      case .other(let box): box.base as! any Hashable & Sendable
      }
    }

    /// The value's own description, in double quotes if the value is text.
    public var description: String {
      let base = self.base
      return base is any StringProtocol ? "\"\(base)\"" : "\(base)"
    }

    @inlinable
    public static func == (lhs: Self, rhs: Self) -> Bool {
      switch (lhs.storage, rhs.storage) {
      case (.text(let left), .text(let right)): left == right
      case (.integer(let left), .integer(let right)): left == right
      case (.text, .integer), (.integer, .text): false
      case (.other(let left), .other(let right)): left.isEqual(to: right)
      case (.other, _), (_, .other): lhs.storage.erased == rhs.storage.erased
      }
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
      hasher.combine(self.rawHash)
    }

    /// The hash of this element by itself.
    @inlinable
    var rawHash: UInt {
      let hash =
        switch self.storage {
        case .text(let text): text.hashValue
        case .integer(let number): Storage.hash(of: number)
        case .other(let box): box.hash
        }
      return UInt(bitPattern: hash)
    }
  }
}

extension QueryPath.Element {
  /// The value of an element. `AnyHashable` takes ten times as long to compare text and integers, of which most
  /// paths consist.
  @usableFromInline
  enum Storage: Sendable {
    case text(String)
    case integer(Int)
    /// Neither a `String` nor an `Int`, though it may equal an `Int`.
    case other(Box)

    @inlinable
    init<Value: Hashable & Sendable>(other value: Value) {
      let erased = AnyHashable(value)
      let base = erased.base
      // A class may be another one there, and an optional what is in it.
      if type(of: base) == Value.self, !(Value.self is AnyObject.Type) {
        self = .other(TypedBox(value, hash: erased.hashValue))
      } else {
        self.init(erased, base)
      }
    }

    @usableFromInline
    init(_ erased: AnyHashable, _ base: Any) {
      // The type is compared first, since a cast also looks into an optional, which equals no integer.
      if type(of: base) == String.self, let text = base as? String {
        self = .text(text)
      } else if type(of: base) == Int.self, let number = base as? Int {
        self = .integer(number)
      } else {
        self = .other(ErasedBox(erased))
      }
    }

    @usableFromInline
    var erased: AnyHashable {
      switch self {
      case .text(let text): AnyHashable(text)
      case .integer(let number): AnyHashable(number)
      case .other(let box): box.erased
      }
    }

    /// The hash of an integer, which those of other types have that equal it.
    @usableFromInline
    static func hash(of number: Int) -> Int {
      Self.knowsHashes ? Self.expectedHash(of: number) : AnyHashable(number).hashValue
    }

    /// What `AnyHashable` says, faster.
    private static func expectedHash(of number: Int) -> Int {
      number < 0 ? Int64(number).hashValue : UInt64(number).hashValue
    }

    /// Whether `AnyHashable` hashes integers as it did when this was written, which it does not promise.
    private static let knowsHashes = [0, 1, -1, .max, .min].allSatisfy {
      AnyHashable($0).hashValue == Self.expectedHash(of: $0)
    }
  }

  /// A value of another type, apart from the element, which is 16 bytes without it.
  // @unchecked: a class with subclasses, whose variables are all Sendable constants.
  @usableFromInline
  class Box: @unchecked Sendable {
    /// A new store looks for its path, and is put there.
    @usableFromInline final let hash: Int

    @inlinable
    init(hash: Int) { self.hash = hash }

    @usableFromInline
    var base: Any { preconditionFailure("Each box has a value.") }

    @usableFromInline
    var erased: AnyHashable { preconditionFailure("Each box has a value.") }

    /// Whether the values are equal as `AnyHashable`.
    @usableFromInline
    func isEqual(to other: Box) -> Bool { self.erased == other.erased }
  }

  // @unchecked: the initialisers put only `Sendable` values in, and nothing changes them.
  @usableFromInline
  final class ErasedBox: Box, @unchecked Sendable {
    @usableFromInline let value: AnyHashable

    init(_ value: AnyHashable) {
      self.value = value
      super.init(hash: value.hashValue)
    }

    override var base: Any { self.value.base }
    override var erased: AnyHashable { self.value }
  }

  /// Most values are compared with those of their own type, for which `AnyHashable` takes several times as long.
  // @unchecked: as its superclass; the value is Sendable and never changed.
  @usableFromInline
  final class TypedBox<Value: Hashable & Sendable>: Box, @unchecked Sendable {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value, hash: Int) {
      self.value = value
      super.init(hash: hash)
    }

    @inlinable override var base: Any { self.value }
    @inlinable override var erased: AnyHashable { AnyHashable(self.value) }

    @inlinable
    override func isEqual(to other: Box) -> Bool {
      guard type(of: other) == Self.self else { return super.isEqual(to: other) }
      return self.value == unsafeDowncast(other, to: Self.self).value
    }
  }
}
