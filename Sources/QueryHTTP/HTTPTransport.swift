import Foundation
import FoundationNetworking
import Query

/// A server's answer, as much of it as was read.
struct HTTPAnswer: Sendable {
  var status: Int
  /// The names are in lower case.
  var headers: [String: String]
  var body = Data()
  var wasTruncated = false
}

/// What requests of HTTP are sent through: sessions of its own, without cookies, cache or credentials.
/// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment are obeyed.
///
/// A request with a body has a connection of its own: `URLSession` on Linux notices only at the
/// time-out that a server has closed one that was used before. They have a session of their own,
/// since one with `Connection: close` may still take a connection that another request has left.
public final class HTTPTransport: Sendable {
  /// The one that requests share that ask for no other limits.
  public static let shared = HTTPTransport()

  private let bodies: TransportSession
  private let others: TransportSession
  private let timeLimit: Duration

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - timeout: How long a server may be silent; 60 s by default.
  ///   - timeLimit: How long a request may take altogether, with its upload and its answer; an hour by
  ///     default.
  public init(timeout: Duration = .seconds(60), timeLimit: Duration = .seconds(3_600)) {
    self.timeLimit = timeLimit
    self.bodies = TransportSession(timeout)
    self.others = TransportSession(timeout)
  }

  /// Sends a request. A redirect is returned instead of followed.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - file: The file to send as its body; nil: the request's own body.
  ///   - limit: How many bytes of the answer are taken.
  ///   - progress: Called with how many bytes of the file have been sent.
  /// - Throws: `URLError`, `.cancelled` if the task is cancelled.
  func send(
    _ request: URLRequest, file: URL?, limit: Int,
    progress: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async throws -> HTTPAnswer {
    let hasBody = file != nil || request.httpBody != nil
    let line = hasBody ? self.bodies : self.others
    var request = request
    if hasBody { request.setValue("close", forHTTPHeaderField: "Connection") }
    let task =
      file.map { line.session.uploadTask(with: request, fromFile: $0) }
      ?? line.session.dataTask(with: request)
    // The session's own limit for a request is not kept on Linux.
    let (delegate, timeLimit) = (line.delegate, self.timeLimit)
    let limiter = Task {
      guard (try? await Task.sleep(for: timeLimit)) != nil else { return }
      delegate.giveUp(task, URLError(.timedOut))
    }
    defer { limiter.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        delegate.expect(task, limit: limit, progress: progress, continuation)
        task.resume()
        // The handler may have run before a caller waited for an answer.
        if Task.isCancelled { delegate.giveUp(task, URLError(.cancelled)) }
      }
    } onCancel: {
      delegate.giveUp(task, URLError(.cancelled))
    }
  }
}

/// A session, and what collects its answers.
private final class TransportSession: Sendable {
  let session: URLSession
  let delegate = TransportDelegate()

  /// - Parameter timeout: How long a server may be silent.
  init(_ timeout: Duration) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout / .seconds(1)
    configuration.httpShouldSetCookies = false
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    self.session = URLSession(
      configuration: configuration, delegate: self.delegate, delegateQueue: nil)
  }

  // The session keeps its delegate until then.
  deinit { self.session.finishTasksAndInvalidate() }
}

/// Collects the answers of a session.
// @unchecked: its superclass has no state, and its own is guarded.
private final class TransportDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private struct Exchange {
    var limit: Int
    var progress: @Sendable (Int64) -> Void
    var answer: HTTPAnswer?
    var continuation: CheckedContinuation<HTTPAnswer, any Error>
  }

  private let exchanges = Locked([Int: Exchange]())

  func expect(
    _ task: URLSessionTask, limit: Int, progress: @escaping @Sendable (Int64) -> Void,
    _ continuation: CheckedContinuation<HTTPAnswer, any Error>
  ) {
    self.exchanges.withLock {
      $0[task.taskIdentifier] = Exchange(
        limit: limit, progress: progress, continuation: continuation)
    }
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    self.exchanges.withLock { $0[task.taskIdentifier]?.progress }?(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    self.begin(task, response)
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession,
    dataTask: URLSessionDataTask,
    didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse { self.begin(dataTask, response) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isFull = self.exchanges.withLock { exchanges in
      guard let exchange = exchanges[dataTask.taskIdentifier], let answer = exchange.answer
      else { return false }
      let room = exchange.limit - answer.body.count
      exchanges[dataTask.taskIdentifier]?.answer?.body.append(data.prefix(room))
      if data.count > room { exchanges[dataTask.taskIdentifier]?.answer?.wasTruncated = true }
      return data.count > room
    }
    // The rest is not needed: the server has already said what became of the request.
    if isFull { self.end(dataTask, nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    self.end(task, error)
  }

  /// Ends the wait for an answer, and some time later the transfer, if that has not ended by itself: a
  /// task that is cancelled while its answer arrives may end the process (see ``URLSession/answer(to:)``).
  func giveUp(_ task: URLSessionTask, _ error: URLError) {
    self.end(task, error)
    Task.detached {
      try? await Task.sleep(for: .seconds(60))
      task.cancel()
    }
  }

  private func begin(_ task: URLSessionTask, _ response: HTTPURLResponse) {
    let answer = HTTPAnswer(
      status: response.statusCode, headers: response.headersInLowerCase)
    self.exchanges.withLock { $0[task.taskIdentifier]?.answer = answer }
  }

  private func end(_ task: URLSessionTask, _ error: (any Error)?) {
    let exchange = self.exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    guard let exchange else { return }
    if let error {
      exchange.continuation.resume(throwing: error)
    } else if let answer = exchange.answer {
      exchange.continuation.resume(returning: answer)
      if answer.wasTruncated { task.cancel() }
    } else {
      exchange.continuation.resume(throwing: URLError(.badServerResponse))
    }
  }
}
