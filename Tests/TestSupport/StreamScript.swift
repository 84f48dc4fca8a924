import Dispatch
import Query

/// What a server sends piece by piece, when the test says so.
public final class StreamScript: Sendable {
  private struct Guarded {
    var pieces = [[UInt8]]()
    var isOver = false
    /// Whether the server waits for a piece.
    var isAsked = false
  }

  private let guarded = Locked(Guarded())
  private let news = DispatchSemaphore(value: 0)

  /// - Parameter head: What comes first.
  public init(_ head: String) { self.send(head) }

  /// A stream of events, with its head.
  public convenience init() {
    self.init("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
  }

  public func send(_ text: String) { self.send(Array(text.utf8)) }

  public func send(_ bytes: [UInt8]) {
    self.guarded.withLock { $0.pieces.append(bytes) }
    self.news.signal()
  }

  /// Waits until the server has sent all that there is.
  public func hasBeenSent() async {
    while !self.guarded.withLock({ $0.pieces.isEmpty && $0.isAsked }) { await Task.yield() }
  }

  /// Ends the connection.
  public func end() {
    self.guarded.withLock { $0.isOver = true }
    self.news.signal()
  }

  /// The next piece, as soon as there is one; nil: the end.
  func next() -> [UInt8]? {
    while true {
      let (piece, isOver) = self.guarded.withLock { guarded in
        guarded.isAsked = guarded.pieces.isEmpty
        return (guarded.isAsked ? nil : guarded.pieces.removeFirst(), guarded.isOver)
      }
      if let piece { return piece }
      if isOver { return nil }
      self.news.wait()
    }
  }
}
