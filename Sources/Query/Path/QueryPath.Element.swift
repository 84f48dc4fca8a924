extension QueryPath {
  /// One step of a path: any hashable, sendable value.
  ///
  /// Two elements are equal if their values are equal as `AnyHashable`: `1` and `1.0` are, `1` and
  /// `true` are not. Like `AnyHashable`, an element made from a non-nil optional holds the wrapped
  /// value.
  public struct Element: Hashable, Sendable, CustomStringConvertible {
    @usableFromInline
    // Safe to share: the initialisers put only `Sendable` values in, and nothing changes them.
    nonisolated(unsafe) let storage: AnyHashable

    /// Makes an element of a value whose type is known only at run time.
    ///
    /// - Parameter value: The value of the step.
    @inlinable
    public init(_ value: any Hashable & Sendable) {
      self.storage = AnyHashable(value)
    }

    @inlinable
    init(erasing value: some Hashable & Sendable) {
      self.storage = AnyHashable(value)
    }

    /// The value of the step.
    public var base: any Hashable & Sendable {
      // Cannot fail: the initialisers take nothing else.
      storage.base as! any Hashable & Sendable
    }

    /// The value's own description, in double quotes if the value is text.
    public var description: String {
      let base = storage.base
      return base is any StringProtocol ? "\"\(base)\"" : "\(base)"
    }

    @inlinable
    public static func == (lhs: Self, rhs: Self) -> Bool {
      lhs.storage == rhs.storage
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
      hasher.combine(storage)
    }

    /// The hash of this element by itself, which spares the copy of a hasher that `hashValue` of a
    /// wrapper makes.
    @inlinable
    var rawHash: UInt {
      UInt(bitPattern: storage.hashValue)
    }
  }
}
