import Foundation
import FoundationNetworking
import Query

/// A request to be sent, and the receiver of its answer.
final class Transfer: Sendable {
  /// What becomes of a transfer, told in this order.
  struct Receiver: Sendable {
    /// How many bytes of the body have been sent.
    var sent: @Sendable (Int64) -> Void = { _ in }
    /// The answer, without its body.
    var head: @Sendable (HTTPAnswer) -> Void
    /// Some of its body; returns whether more of it is wanted.
    var bytes: @Sendable (UnsafeRawBufferPointer) -> Bool
    /// The end, told once. Nothing is told after it.
    var end: @Sendable (Result<Void, URLError>) -> Void
  }

  /// How long it may take.
  struct Patience: Sendable {
    /// How long the server may be silent.
    var silence: Duration
    /// How long all of it may take; nil: for ever.
    var total: Duration?
  }

  /// Those of one origin that wait for one another if there are many.
  struct Lane: Hashable, Sendable {
    var origin: HTTPOrigin
    var isRead: Bool
    /// How many run at once.
    var width: Int
  }

  let request: URLRequest
  let body: TransferBody?
  let patience: Patience
  /// nil: it waits for no other.
  let lane: Lane?
  /// When it was asked for, with the redirects before it.
  let began: ContinuousClock.Instant
  private let receiver: Locked<Receiver?>

  /// - Parameters:
  ///   - width: How many of its lane run at once; nil: it waits for no other.
  ///   - began: From when on its time counts.
  ///   - receiver: Told what becomes of it.
  /// - Throws: ``HTTPRequestError``.
  init(
    _ request: URLRequest, _ body: TransferBody?, _ patience: Patience, width: Int?,
    began: ContinuousClock.Instant = .now, _ receiver: Receiver
  ) throws {
    guard let origin = request.url.flatMap({ HTTPOrigin($0) }) else {
      throw HTTPRequestError.badURL(request.url?.absoluteString ?? "")
    }
    // One with a line break would be a header more, or a request.
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      guard HTTPRequestDescription.isHeaderValue(value) else {
        throw HTTPRequestError.badHeaderValue(name)
      }
      guard HTTPRequestDescription.isToken(name) else {
        throw HTTPRequestError.headerNotAllowed(name)
      }
    }
    let method = request.httpMethod ?? "GET"
    guard HTTPRequestDescription.isToken(method) else { throw HTTPRequestError.badMethod(method) }
    self.request = request
    self.body = body
    self.began = began
    self.patience = patience
    self.receiver = Locked(receiver)
    self.method = method
    let isRead = body == nil && ["GET", "HEAD"].contains(method)
    self.isRead = isRead
    self.lane = width.map { Lane(origin: origin, isRead: isRead, width: $0) }
  }

  /// Whether nothing but reading is asked for, so that it may be sent over a connection that was used
  /// before, and again if that turns out to be closed.
  let isRead: Bool

  let method: String

  /// Whether it says itself how the answer may be packed. A part of a packed body could not be unpacked.
  var asksForCoding: Bool { self.hasHeader("accept-encoding") || self.hasHeader("range") }

  /// - Parameter name: In lower case.
  func hasHeader(_ name: String) -> Bool {
    self.request.allHTTPHeaderFields?.contains { $0.key.lowercased() == name } == true
  }

  /// When it has taken too long, whatever comes; nil: never.
  var lastMoment: ContinuousClock.Instant? { self.patience.total.map { self.began + $0 } }

  /// The receiver; nil after the end.
  var current: Receiver? { self.receiver.withLock { $0 } }

  /// Ends the wait, if it has not ended.
  func end(_ result: Result<Void, URLError>) {
    let receiver = self.receiver.withLock { receiver in
      defer { receiver = nil }
      return receiver
    }
    receiver?.end(result)
  }
}
