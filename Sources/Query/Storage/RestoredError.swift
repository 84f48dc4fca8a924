/// An error of an earlier launch, reduced to its type's name and its text.
public struct RestoredError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the error's type, with its module.
  public let typeName: String

  /// What the error said of itself.
  public let text: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - typeName: The name of the error's type, with its module.
  ///   - text: The error's description of itself.
  public init(typeName: String, text: String) {
    self.typeName = typeName
    self.text = text
  }

  /// Makes a restorable copy of an error. A restored error stays as it is.
  ///
  /// - Parameter error: The error.
  public init(_ error: any Error) {
    if let restored = error as? RestoredError {
      self = restored
    } else {
      self.init(
        typeName: QualifiedTypeName.of(type(of: error)),
        text: String(String(describing: error).prefix(Self.maximumTextLength)))
    }
  }

  /// How many characters of an error's text are kept: a server's whole answer may be in it.
  static let maximumTextLength = 2_000

  /// The error's own text.
  public var description: String { self.text }
}
