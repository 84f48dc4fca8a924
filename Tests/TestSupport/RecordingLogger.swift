public import Query

/// A logger that keeps its messages.
public final class RecordingLogger: QueryLogger {
  /// The messages so far, each with its level: `info: Query took 1.0 sec to run.`
  public let messages = Recorder<String>()

  /// Creates a logger without messages.
  public init() {}

  public func log(level: QueryLogLevel, message: @autoclosure () -> String) {
    self.messages.append("\(level.rawValue): \(message())")
  }
}
