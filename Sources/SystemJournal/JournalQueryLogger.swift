import Glibc
public import Query

/// Sends log messages to the journal of systemd, with fields to search for, and to the standard error
/// if there is no journal.
///
/// ```swift
/// var context = QueryContext()
/// context.queryLogger = JournalQueryLogger(identifier: "notes")
/// ```
/// It speaks the journal's own protocol, one datagram a message, and needs no library of systemd. It
/// never waits: a message that the journal does not take at once goes to the standard error.
public struct JournalQueryLogger: QueryLogger {
  private let identifier: String
  private let socket: JournalSocket?

  /// Creates a logger.
  ///
  /// - Parameter identifier: What the journal shows the messages under, and `journalctl -t` finds; nil: the
  ///   name of the program.
  public init(identifier: String? = nil) {
    self.init(identifier: identifier, socketPath: "/run/systemd/journal/socket")
  }

  /// Creates a logger for a journal's socket elsewhere.
  package init(identifier: String? = nil, socketPath: String) {
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
    self.identifier = identifier ?? program ?? "swift"
    self.socket = JournalSocket(socketPath)
  }

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - level: How important it is.
  ///   - message: The message.
  public func log(level: QueryLogLevel, message: @autoclosure () -> String) {
    self.log(level: level, fields: [:], message: message())
  }

  /// Sends a message with fields.
  ///
  /// - Parameters:
  ///   - level: How important it is.
  ///   - fields: What it is about.
  ///   - message: The message.
  public func log(
    level: QueryLogLevel, fields: [JournalField: String], message: @autoclosure () -> String
  ) {
    let message = message()
    var datagram = [UInt8]()
    Self.add("MESSAGE", message, to: &datagram)
    Self.add("PRIORITY", "\(level.priority)", to: &datagram)
    Self.add("SYSLOG_IDENTIFIER", self.identifier, to: &datagram)
    for field in JournalField.allCases {
      if let value = fields[field] { Self.add(field.rawValue, value, to: &datagram) }
    }
    if self.socket?.send(datagram) != true { Self.writeError("<\(level.priority)>\(message)\n") }
  }

  /// Adds a field: `NAME=value`, or, if the value has a newline, its name, its length in eight bytes, the
  /// lowest first, and the value.
  private static func add(_ name: String, _ value: String, to datagram: inout [UInt8]) {
    datagram += name.utf8
    let bytes = Array(value.utf8)
    if bytes.contains(UInt8(ascii: "\n")) {
      datagram.append(UInt8(ascii: "\n"))
      withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { datagram += $0 }
    } else {
      datagram.append(UInt8(ascii: "="))
    }
    datagram += bytes
    datagram.append(UInt8(ascii: "\n"))
  }

  private static func writeError(_ text: String) {
    // One call, so that lines of several threads do not mix.
    let bytes = Array(text.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }

  /// Whether systemd connected a descriptor of this process with the journal: what is printed there
  /// would be in it once more.
  ///
  /// - Parameter descriptor: The descriptor, such as that of the standard output.
  public static func isJournal(_ descriptor: Int32) -> Bool {
    guard let stream = getenv("JOURNAL_STREAM").map({ String(cString: $0) }) else { return false }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }
}

extension QueryLogLevel {
  /// The level of syslog.
  fileprivate var priority: Int {
    switch self {
    case .critical: 2
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .trace, .debug: 7
    }
  }
}
