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

  // Of tests that say what their warnings are about.
  private static let listeners = Locked([String: WarningRecorder]())

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

  /// Makes this recorder the one of a closure, and of warnings about something, whatever thread they
  /// are reported on: those of a storage come on its own.
  ///
  /// - Parameters:
  ///   - text: What their messages contain, and those of other tests do not.
  ///   - body: What causes the warnings.
  public func record<T>(about text: String, _ body: () async throws -> T) async rethrows -> T {
    Self.listeners.withLock { $0[text] = self }
    defer { Self.listeners.withLock { _ = $0.removeValue(forKey: text) } }
    return try await self.record(body)
  }

  private static func listener(to warning: QueryWarning) -> WarningRecorder? {
    self.listeners.withLock { listeners in
      listeners.first { warning.message.contains($0.key) }?.value
    }
  }

  /// Makes warnings of this process go to recorders. Every use of one does that.
  public static func install() { _ = Self.installation }

  // Once: another test may be in the middle of its warnings.
  private static let installation: Void = {
    QueryWarning.reporter = { warning, fileID, filePath, line, column in
      if let recorder = WarningRecorder.current ?? WarningRecorder.listener(to: warning) {
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
///   - text: What the messages of those contain that other threads report; nil: there are none.
///   - sourceLocation: The location to record an issue at if there are others.
///   - body: What causes the warnings.
@discardableResult
public func withExpectedWarnings<T>(
  _ expected: [QueryWarning],
  about text: String? = nil,
  sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> T
) async rethrows -> T {
  let recorder = WarningRecorder()
  let value: T
  if let text {
    value = try await recorder.record(about: text, body)
  } else {
    value = try await recorder.record(body)
  }
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
