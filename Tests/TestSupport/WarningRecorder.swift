public import Query
public import Testing

/// Turns warnings of the library into issues of the test that caused them, but for those that the
/// test expects.
///
/// ```swift
/// @Suite(.warningsAreIssues)
/// struct QueryStoreTests {
///   @Test func yieldsTooLate() async throws {
///     try await withExpectedWarnings([.queryYieldedAfterReturning(.success(1))]) { ... }
///   }
/// }
/// ```
/// A warning belongs to the innermost recorder of the task that it is reported in, and of tasks
/// that were started there. One that is reported outside of all is an issue without a test.
public final class WarningRecorder: Sendable {
  @TaskLocal fileprivate static var current: WarningRecorder?

  private let recorded = Recorder<QueryWarning>()

  /// Creates a recorder without warnings.
  public init() {}

  /// The warnings so far.
  public var warnings: [QueryWarning] { self.recorded.elements }

  /// Returns when there were so many warnings.
  public func wait(forCount count: Int) async { await self.recorded.wait(forCount: count) }

  /// Makes this recorder the one of a closure, and of the tasks that are started in it.
  public func record<T>(_ body: () async throws -> T) async rethrows -> T {
    Self.install()
    return try await Self.$current.withValue(self) { try await body() }
  }

  /// Makes warnings of this process go to recorders. Every use of one does that.
  public static func install() { _ = Self.installation }

  // Once: another test may be in the middle of its warnings.
  private static let installation: Void = {
    QueryWarning.reporter = { warning, fileID, filePath, line, column in
      if let recorder = WarningRecorder.current {
        recorder.recorded.append(warning)
      } else {
        Issue.record(
          Comment(rawValue: warning.message),
          sourceLocation: SourceLocation(
            fileID: "\(fileID)",
            filePath: "\(filePath)",
            line: Int(line),
            column: Int(column)
          )
        )
      }
    }
  }()
}

/// Runs a closure and expects exactly these warnings, in this order.
///
/// - Parameters:
///   - expected: The warnings.
///   - sourceLocation: Where an issue is recorded if there are others.
///   - body: What causes the warnings.
@discardableResult
public func withExpectedWarnings<T>(
  _ expected: [QueryWarning],
  sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> T
) async rethrows -> T {
  let recorder = WarningRecorder()
  let value = try await recorder.record(body)
  #expect(recorder.warnings == expected, sourceLocation: sourceLocation)
  return value
}

/// Makes every warning that a test does not expect an issue of it.
public struct WarningsAreIssuesTrait: SuiteTrait, TestTrait, TestScoping {
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    WarningRecorder.install()
    try await function()
  }
}

extension Trait where Self == WarningsAreIssuesTrait {
  /// Makes every warning that a test does not expect an issue of it.
  public static var warningsAreIssues: Self { WarningsAreIssuesTrait() }
}
