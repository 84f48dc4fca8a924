public import Foundation
public import FoundationNetworking
import Query

extension URLSession {
  /// Sends a request, and returns the answer: `data(for:)` in a form that can be cancelled at any time.
  ///
  /// Foundation's own, up to Swift 6.3, deadlocks if its task is cancelled while the answer arrives
  /// (swift-corelibs-foundation, issue 5412), and a `URLSessionTask` that is cancelled then may end the
  /// process. An attempt of a durable mutation is cancelled if it takes too long, or if another process has
  /// taken its row. So a cancellation ends the wait alone: the transfer ends by itself, at the latest after
  /// the request's `timeoutInterval` without a byte, and its answer is dropped.
  ///
  /// - Parameter request: The request.
  /// - Returns: The body, and the response.
  /// - Throws: `URLError`, `.cancelled` if the task is cancelled.
  public func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
    let answer = PendingAnswer<(Data, URLResponse)>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard answer.begin(continuation) else { return }
        self.dataTask(with: request) { data, response, error in
          if let response, error == nil {
            answer.end(.success((data ?? Data(), response)))
          } else {
            answer.end(.failure(error ?? URLError(.badServerResponse)))
          }
        }.resume()
      }
    } onCancel: {
      answer.end(.failure(URLError(.cancelled)))
    }
  }

  /// As ``answer(to:)``, for a URL.
  public func answer(from url: URL) async throws -> (Data, URLResponse) {
    try await self.answer(to: URLRequest(url: url))
  }
}

/// The first of an answer and a cancellation.
private final class PendingAnswer<Value: Sendable>: Sendable {
  private struct Guarded {
    var continuation: CheckedContinuation<Value, any Error>?
    var isOver = false
  }

  private let guarded = Locked(Guarded())

  /// Begins the wait.
  ///
  /// - Returns: Whether there is something to wait for: not if the task is cancelled already.
  func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
    let isOver = self.guarded.withLock { answer in
      if !answer.isOver { answer.continuation = continuation }
      return answer.isOver
    }
    if isOver { continuation.resume(throwing: URLError(.cancelled)) }
    return !isOver
  }

  func end(_ result: Result<Value, any Error>) {
    let continuation = self.guarded.withLock { answer in
      answer.isOver = true
      defer { answer.continuation = nil }
      return answer.continuation
    }
    continuation?.resume(with: result)
  }
}
