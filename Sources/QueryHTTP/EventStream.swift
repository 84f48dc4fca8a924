public import Foundation
import FoundationNetworking
public import Query

/// A stream of events that a server sends (`text/event-stream`), to be followed by live queries.
///
/// All stores of a client that follow streams of one URL and credential share one connection. It is
/// made with the first store that has a subscriber, only while the network is there, and ended half a
/// minute after the last one has left. A connection that breaks is made again, after a wait that grows,
/// from the last event on (`Last-Event-ID`).
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
  /// What event streams wait by, before they are connected again and before they are ended. The
  /// continuous clock by default.
  public var eventStreamDelayer: any QueryDelayer {
    get { self[EventStreamDelayerKey.self] }
    set { self[EventStreamDelayerKey.self] = newValue }
  }

  private enum EventStreamDelayerKey: Key {
    static var defaultValue: any QueryDelayer { .clock(ContinuousClock()) }
  }
}

/// A part of the answer to a request for a stream.
enum StreamPart: Sendable {
  case head(HTTPAnswer)
  case bytes(Data)
}

/// One request for a stream, with a session of its own.
// @unchecked: its superclass has no state, and its own is guarded.
final class StreamRequest: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  /// How many parts may wait to be read.
  private static let room = 1_024

  private let continuation = Locked<AsyncThrowingStream<StreamPart, any Error>.Continuation?>(nil)

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - silence: How long the server may send nothing.
  /// - Returns: The head of the answer, and then its bytes.
  static func parts(
    of request: URLRequest, silence: Duration
  ) -> AsyncThrowingStream<StreamPart, any Error> {
    let delegate = StreamRequest()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = silence / .seconds(1)
    configuration.httpShouldSetCookies = false
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    let session = URLSession(
      configuration: configuration, delegate: delegate, delegateQueue: nil)
    let (parts, continuation) = AsyncThrowingStream<StreamPart, any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.room))
    delegate.continuation.withLock { $0 = continuation }
    continuation.onTermination = { _ in delegate.continuation.withLock { $0 = nil } }
    session.dataTask(with: request).resume()
    // The session keeps its delegate until the task has ended.
    session.finishTasksAndInvalidate()
    return parts
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    self.take(.head(HTTPAnswer(status: response.statusCode, headers: [:])), task)
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      let answer = HTTPAnswer(status: response.statusCode, headers: response.headersInLowerCase)
      self.take(.head(answer), dataTask)
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    self.take(.bytes(data), dataTask)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    self.current?.finish(throwing: error)
  }

  private var current: AsyncThrowingStream<StreamPart, any Error>.Continuation? {
    self.continuation.withLock { $0 }
  }

  /// Hands on a part. If nobody reads any more, the transfer ends here, where its answer arrives: to cancel
  /// it from elsewhere may end the process (see ``URLSession/answer(to:)``). A silent one ends by itself.
  private func take(_ part: StreamPart, _ task: URLSessionTask) {
    switch self.current?.yield(part) {
    case .enqueued?: return
    case .dropped?: self.current?.finish(throwing: EventStreamError.tooFast)
    default: break
    }
    task.cancel()
  }
}
