/// An error of an earlier launch, reduced to its type's name and its text.
public struct RestoredError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the error's type, with its module.
  public let typeName: String

  /// What the error said of itself: its `errorDescription` (`LocalizedError`) or `description`, in at
  /// most 500 characters; of an error without these, the name of its case or type. URLs have neither
  /// query nor password in it, and errors of Foundation only their domain, code and sentence.
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
        text: ErrorText.of(error))
    }
  }

  /// The error's own text.
  public var description: String { self.text }
}
