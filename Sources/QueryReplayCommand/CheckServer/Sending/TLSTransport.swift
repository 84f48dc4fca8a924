import Foundation
import FoundationNetworking
import Query
import QueryHTTP

/// HTTP with encryption, by what sends an application's requests.
struct TLSTransport: CheckTransport {
  /// How long a server may be silent.
  private static let patience = Duration.seconds(30)
  /// How many bytes of an answer are read.
  private static let limit = 16 << 20

  func outcomes(of requests: [CheckRequest]) async -> [CheckOutcome] {
    let transport = HTTPTransport(
      timeout: Self.patience, timeLimit: .seconds(300), width: max(1, requests.count))
    return await withTaskGroup(of: (Int, CheckOutcome).self) { group in
      for (index, request) in requests.enumerated() {
        group.addTask { (index, await Self.outcome(of: request, transport)) }
      }
      var outcomes = [CheckOutcome](repeating: .unanswered(""), count: requests.count)
      for await (index, outcome) in group { outcomes[index] = outcome }
      return outcomes
    }
  }

  func abandon(_ request: CheckRequest) async -> String? {
    let size = Int64(request.body.count)
    guard size > 0 else { return "without a body nobody can tell when it has been sent" }
    let (wasSent, sending) = (Locked(false), Locked<Task<CheckOutcome, Never>?>(nil))
    let task = Task {
      await Self.outcome(of: request, HTTPTransport(timeout: Self.patience)) { sent in
        guard sent >= size else { return }
        wasSent.withLock { $0 = true }
        sending.withLock { $0 }?.cancel()
      }
    }
    sending.withLock { $0 = task }
    // It may have been sent before there was a task to cancel.
    if wasSent.withLock({ $0 }) { task.cancel() }
    let outcome = await task.value
    if wasSent.withLock({ $0 }) { return nil }
    if case .unreached(let reason) = outcome { return reason }
    return "the server answered before it had all of it"
  }

  private static func outcome(
    of request: CheckRequest, _ transport: HTTPTransport,
    progress: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async -> CheckOutcome {
    var message = URLRequest(url: request.url)
    message.httpMethod = request.method
    if request.method != "GET" { message.httpBody = request.body }
    for header in request.headers {
      message.addValue(header.value, forHTTPHeaderField: header.name)
    }
    do {
      let answer = try await transport.send(message, limit: Self.limit, progress: progress)
      return .answer(
        CheckAnswer(status: answer.status, headers: answer.headers, body: answer.body))
    } catch let error as URLError where FailureVerdict.isFromBeforeSending(error.errorCode) {
      return .unreached(error.localizedDescription)
    } catch {
      return .unanswered(error.localizedDescription)
    }
  }
}
