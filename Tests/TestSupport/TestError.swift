/// An error that a test throws on purpose.
public struct TestError: Error, Hashable, CustomStringConvertible {
  /// What tells it from others.
  public let name: String

  /// Creates an error.
  public init(_ name: String = "expected") { self.name = name }

  public var description: String { "TestError(\(self.name))" }
}
