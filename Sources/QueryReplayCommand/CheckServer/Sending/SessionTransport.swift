import Foundation
import FoundationNetworking
import QueryHTTP

/// HTTP with encryption, by `URLSession`.
struct SessionTransport: CheckTransport {
  func outcomes(of requests: [CheckRequest]) async -> [CheckOutcome] {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = max(1, requests.count)
    configuration.urlCache = nil
    configuration.timeoutIntervalForRequest = 30
    let session = URLSession(configuration: configuration, delegate: StayHere(), delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    return await withTaskGroup(of: (Int, CheckOutcome).self) { group in
      for (index, request) in requests.enumerated() {
        group.addTask { (index, await Self.outcome(of: request, session)) }
      }
      var outcomes = [CheckOutcome](repeating: .unanswered(""), count: requests.count)
      for await (index, outcome) in group { outcomes[index] = outcome }
      return outcomes
    }
  }

  /// A task that is cancelled may end this process, and a connection is kept: so it cannot be asked.
  func abandon(_ request: CheckRequest) async -> String? {
    "a connection can be closed before the answer over http alone: ask the server behind its TLS"
  }

  private static func outcome(
    of request: CheckRequest, _ session: URLSession
  ) async -> CheckOutcome {
    var message = URLRequest(url: request.url)
    message.httpMethod = request.method
    if request.method != "GET" { message.httpBody = request.body }
    for header in request.headers {
      message.addValue(header.value, forHTTPHeaderField: header.name)
    }
    do {
      let (body, response) = try await session.answer(to: message)
      guard let response = response as? HTTPURLResponse else { return .unanswered("no HTTP") }
      var headers = [String: String]()
      for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
      return .answer(
        CheckAnswer(status: response.statusCode, headers: headers, body: body))
    } catch let error as URLError where Self.isUnreached(error.code) {
      return .unreached(error.localizedDescription)
    } catch {
      return .unanswered(error.localizedDescription)
    }
  }

  private static func isUnreached(_ code: URLError.Code) -> Bool {
    [.cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet]
      .contains(code) || (-1_206 ... -1_200).contains(code.rawValue)
  }
}

/// Follows no redirect: what a server says is what it is judged by.
private final class StayHere: NSObject, URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }
}
