/// A mistake in the use of the library that is reported and survived.
///
/// Warnings go to ``reporter``, which writes them to standard error. A test target sets one that
/// records an issue:
/// ```swift
/// QueryWarning.reporter = { warning, fileID, filePath, line, column in
///   Issue.record(Comment(rawValue: warning.message))
/// }
/// ```
public struct QueryWarning: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// What happened, to which query, and what to do about it.
  public let message: String

  /// Creates a warning.
  ///
  /// - Parameter message: What happened, to which query, and what to do about it.
  public init(message: String) { self.message = message }

  public init(stringLiteral value: String) { self.init(message: value) }

  /// Takes a warning and the place in the code that it comes from: file identifier, file path,
  /// line and column.
  public typealias Reporter =
    @Sendable (QueryWarning, StaticString, StaticString, UInt, UInt) -> Void

  /// The handler of every warning of this process. No lock is held while it runs.
  public static var reporter: Reporter {
    get { Self.currentReporter.withLock { $0 } }
    set {
      // The old one is released after the lock: it holds a user's values.
      let old = Self.currentReporter.withLock { reporter in
        defer { reporter = newValue }
        return reporter
      }
      withExtendedLifetime(old) {}
    }
  }

  private static let currentReporter = Locked<Reporter> { warning, fileID, _, line, _ in
    // A line of the library says nothing of where the mistake is.
    let place = "\(fileID)".hasPrefix("Query/") ? "" : " at \(fileID):\(line)"
    let text = "Query warning\(place): \(warning.message)\n"
    // The program may have closed it; a warning must not end the program.
    StandardError.write(text)
  }

  /// Hands the warning to ``reporter``.
  ///
  /// - Parameters:
  ///   - fileID: The file that the warning comes from.
  ///   - filePath: The path of that file.
  ///   - line: The line in it.
  ///   - column: The column in it.
  public func report(
    fileID: StaticString = #fileID,
    filePath: StaticString = #filePath,
    line: UInt = #line,
    column: UInt = #column
  ) {
    Self.reporter(self, fileID, filePath, line, column)
  }
}
