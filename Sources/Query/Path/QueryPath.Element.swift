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
      case .other(let box): box.value.base as! any Hashable & Sendable
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

    @usableFromInline
    init(other value: some Hashable & Sendable) {
      let erased = AnyHashable(value)
      let base = erased.base
      // The type is compared first, since a cast also looks into an optional, which equals no integer.
      if type(of: base) == String.self, let text = base as? String {
        self = .text(text)
      } else if type(of: base) == Int.self, let number = base as? Int {
        self = .integer(number)
      } else {
        self = .other(Box(erased))
      }
    }

    @usableFromInline
    var erased: AnyHashable {
      switch self {
      case .text(let text): AnyHashable(text)
      case .integer(let number): AnyHashable(number)
      case .other(let box): box.value
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
  // @unchecked: the initialisers put only `Sendable` values in, and nothing changes them.
  @usableFromInline
  final class Box: @unchecked Sendable {
    @usableFromInline let value: AnyHashable
    /// A new store looks for its path, and is put there.
    @usableFromInline let hash: Int

    init(_ value: AnyHashable) { (self.value, self.hash) = (value, value.hashValue) }
  }
}
