/// An event of a stream.
public struct StreamEvent: Hashable, Sendable {
  /// What the stream can be resumed after; nil: the server has named none so far.
  public var id: String?
  /// The name of the event; `message` if the server gives none.
  public var name: String
  /// Its lines, with line feeds between.
  public var data: String

  /// Creates an event. See the properties for what each is.
  public init(id: String? = nil, name: String = "message", data: String) {
    self.id = id
    self.name = name
    self.data = data
  }
}

/// What a server sends is no stream of events that can be followed.
public enum EventStreamError: Error, Hashable, Sendable {
  /// Its type is not `text/event-stream`.
  case contentType(String?)
  /// An event, or a line, is longer than a mebibyte.
  case tooLong
  /// It came faster than it was read.
  case tooFast
}

extension EventStreamError: CustomStringConvertible {
  /// What is wrong with the stream, and what to do about it.
  public var description: String {
    switch self {
    case .contentType(let type):
      """
      The answer is no stream of events: its content type is \(type ?? "not given"). Ask at the URL of one.
      """
    case .tooLong:
      "An event is longer than a mebibyte. Let the server send less, or a URL to fetch it from."
    case .tooFast:
      "The events came faster than they were read. Follow the stream again, and do less for each."
    }
  }
}

/// Makes events of the bytes of a `text/event-stream`, wherever they are cut.
struct EventStreamParser: Sendable {
  /// How many bytes a line, and an event, may have.
  static let limit = 1 << 20

  /// What the stream can be resumed after.
  private(set) var lastID: String?
  /// How long the server asks to wait before it is asked again.
  private(set) var retry: Duration?

  private var line = [UInt8]()
  private var name = ""
  private var data: String?
  private var endsWithReturn = false
  private var isFirstLine = true

  init(lastID: String? = nil) { self.lastID = lastID }

  /// Reads on.
  ///
  /// - Returns: The events that are complete with these bytes.
  /// - Throws: ``EventStreamError/tooLong``.
  mutating func read(_ bytes: some Sequence<UInt8>) throws(EventStreamError) -> [StreamEvent] {
    var events = [StreamEvent]()
    for byte in bytes {
      // A line ends with a carriage return, a line feed, or both.
      let isSecond = self.endsWithReturn && byte == 0x0a
      self.endsWithReturn = byte == 0x0d
      if isSecond { continue }
      if byte != 0x0d, byte != 0x0a {
        guard self.line.count < Self.limit else { throw .tooLong }
        self.line.append(byte)
      } else if let event = try self.endLine() {
        events.append(event)
      }
    }
    return events
  }

  private mutating func endLine() throws(EventStreamError) -> StreamEvent? {
    let isMarked = self.isFirstLine && self.line.starts(with: [0xef, 0xbb, 0xbf])
    self.isFirstLine = false
    let (start, end) = (isMarked ? 3 : 0, self.line.endIndex)
    if start == end {
      self.line.removeAll(keepingCapacity: true)
      return self.endEvent()
    }
    // By bytes: in a text the colon or the space is one character with an accent behind it.
    let colon = self.line[start...].firstIndex(of: 0x3a) ?? end
    let field = String(decoding: self.line[start..<colon], as: UTF8.self)
    var begin = min(colon + 1, end)
    if begin < end, self.line[begin] == 0x20 { begin += 1 }
    let value = String(decoding: self.line[begin...], as: UTF8.self)
    self.line.removeAll(keepingCapacity: true)
    switch field {
    case "event": self.name = value
    case "data":
      guard (self.data?.utf8.count ?? 0) + value.utf8.count < Self.limit else { throw .tooLong }
      if self.data == nil {
        self.data = value
      } else {
        // In place: an event may have a million lines.
        self.data?.append("\n")
        self.data?.append(value)
      }
    case "id":
      // It is sent back in a header.
      let isText = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } && value.utf8.count <= 1_024
      if isText { self.lastID = value.isEmpty ? nil : value }
    case "retry":
      if let wait = Int(value), wait >= 0 { self.retry = .milliseconds(min(wait, 300_000)) }
    default: break
    }
    return nil
  }

  private mutating func endEvent() -> StreamEvent? {
    defer { (self.name, self.data) = ("", nil) }
    // An event without data may still say that all is to be read anew.
    guard let data = self.data ?? (self.name == "reset" ? "" : nil) else { return nil }
    return StreamEvent(id: self.lastID, name: self.name.isEmpty ? "message" : self.name, data: data)
  }
}
