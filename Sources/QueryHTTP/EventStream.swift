public import Foundation
import FoundationNetworking
public import Query

/// A stream of events that a server sends (`text/event-stream`), to be followed by live queries.
///
/// All stores of a client that follow streams of one URL and credential share one connection. It is
/// made with the first store that has a subscriber, only while the network is there, and ended half a
/// minute after the last one has left. A connection that breaks is made again, after a wait that grows,
/// from the last event on (`Last-Event-ID`); at once if the newest of the stores has a credential that gives
/// other headers, as after a login.
public struct EventStream: Hashable, Sendable {
  /// The URL.
  public let url: URL
  /// The name of the credential; nil: it needs none.
  public let credential: HTTPCredential.Name?
  /// How long the server may be silent: a comment now and then tells that it is there.
  public let silence: Duration

  /// Describes a stream.
  ///
  /// - Parameters:
  ///   - url: A URL of HTTP or HTTPS, without a name and password.
  ///   - credential: The name of the credential in `httpCredentials` of the context.
  ///   - silence: How long the server may send nothing before the connection counts as dead; 45 s by
  ///     default, for a server that sends a comment every 30 s.
  public init(
    _ url: URL, credential: HTTPCredential.Name? = nil, silence: Duration = .seconds(45)
  ) {
    self.url = url.absoluteURL
    self.credential = credential
    self.silence = silence
  }
}

extension QueryContext {
  /// What event streams wait by, before they are connected again and before they are ended. By default
  /// the context's clock if that is a `MockQueryClock`, else the continuous clock.
  public var eventStreamDelayer: any QueryDelayer {
    get {
      self[EventStreamDelayerKey.self] ?? self.mockClock ?? .clock(ContinuousClock())
    }
    set { self[EventStreamDelayerKey.self] = newValue }
  }

  private enum EventStreamDelayerKey: Key {
    static var defaultValue: (any QueryDelayer)? { nil }
  }
}

/// A part of the answer to a request for a stream.
enum StreamPart: Sendable {
  case head(HTTPAnswer)
  case bytes(Data)
}

extension StreamPart {
  /// How many parts may wait to be read.
  private static let room = 1_024

  /// Sends a request for a stream.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - silence: How long the server may send nothing.
  /// - Returns: The head of the answer, and then its bytes.
  /// - Throws: ``HTTPRequestError``.
  static func stream(
    of request: URLRequest, silence: Duration
  ) throws -> AsyncThrowingStream<StreamPart, any Error> {
    let (parts, continuation) = AsyncThrowingStream<StreamPart, any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.room))
    let receiver = Transfer.Receiver(
      head: { continuation.yield(.head($0)) },
      bytes: { bytes in
        switch continuation.yield(.bytes(Data(bytes))) {
        case .enqueued: return true
        case .dropped: continuation.finish(throwing: EventStreamError.tooFast)
        default: break
        }
        return false
      },
      end: { result in
        switch result {
        case .success: continuation.finish()
        case .failure(let error): continuation.finish(throwing: error)
        }
      })
    let transfer = try Transfer(
      request, nil, Transfer.Patience(silence: silence), width: nil, receiver)
    continuation.onTermination = { _ in TransferEngine.shared.cancel(transfer) }
    TransferEngine.shared.start(transfer)
    return parts
  }
}
