import Synchronization

/// The identity of a ``QueryTask``, unique in this process.
public struct QueryTaskIdentifier: Hashable, Sendable, CustomDebugStringConvertible {
  @usableFromInline let number: Int

  private init(number: Int) { self.number = number }

  private static let lastNumber = Atomic(0)

  @usableFromInline
  static func next() -> QueryTaskIdentifier {
    QueryTaskIdentifier(
      number: Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
    )
  }

  /// `#<n>`, counted from 1.
  public var debugDescription: String { "#\(self.number)" }
}
