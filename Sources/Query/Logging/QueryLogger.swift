import FoundationEssentials

/// The receiver of the library's log messages.
///
/// Shaped so that the `Logger` of swift-log conforms with three lines.
public protocol QueryLogger: Sendable {
  /// Takes a message.
  ///
  /// - Parameters:
  ///   - level: How important the message is.
  ///   - message: The message, evaluated only if it is logged.
  func log(level: QueryLogLevel, message: @autoclosure () -> String)
}

/// How important a log message is, the least important first.
public enum QueryLogLevel: String, Hashable, Sendable, CaseIterable {
  /// Each step, to find a fault in the library.
  case trace
  /// What a program does, for its developers.
  case debug
  /// Worth knowing; nothing needs to be done.
  case info
  /// Unusual, but not a fault.
  case notice
  /// Probably a mistake of the program.
  case warning
  /// Something failed that should not have.
  case error
  /// The program cannot do its main job.
  case critical
}

/// Writes each message as one line to standard error.
struct StandardErrorLogger: QueryLogger {
  func log(level: QueryLogLevel, message: @autoclosure () -> String) {
    // A program may have closed it, and must survive a message all the same.
    StandardError.write("[\(level.rawValue)] \(message())\n")
  }
}

extension QueryContext {
  /// The receiver of log messages. Writes to standard error by default.
  public var queryLogger: any QueryLogger {
    get { self[QueryLoggerKey.self] }
    set { self[QueryLoggerKey.self] = newValue }
  }

  private enum QueryLoggerKey: Key {
    static var defaultValue: any QueryLogger { StandardErrorLogger() }
  }
}

extension QueryRequest {
  /// Logs how long each fetch of this query took, by the clock of the context.
  ///
  /// - Parameters:
  ///   - logger: The logger; nil to use the context's.
  ///   - level: How important the message is.
  public func logDuration(
    with logger: (any QueryLogger)? = nil,
    at level: QueryLogLevel = .info
  ) -> ModifiedQuery<Self, _LogDurationModifier<Self>> {
    self.modifier(_LogDurationModifier(logger: logger, level: level))
  }
}

public struct _LogDurationModifier<Query: QueryRequest>: QueryModifier {
  let logger: (any QueryLogger)?
  let level: QueryLogLevel

  public func fetch(
    in context: QueryContext,
    using query: Query,
    with continuation: QueryContinuation<Query.Value>
  ) async throws -> Query.Value {
    let start = context.queryClock.now()
    defer {
      let duration = context.queryClock.now().timeIntervalSince(start)
      (self.logger ?? context.queryLogger).log(
        level: self.level,
        message: "\(query._debugTypeName) took \(duration.secondsText) to run."
      )
    }
    return try await query.fetch(in: context, with: continuation)
  }
}
