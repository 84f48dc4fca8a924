import Foundation
import FoundationNetworking
import Query
import QueryHTTP

/// The four routes of a server of notes.
///
/// Queries and mutations find it in their context, so that a test can put another one there.
struct NotesServer: Sendable {
  let url: URL

  /// Sends a read.
  ///
  /// - Parameters:
  ///   - path: Its parts, which may hold any character.
  ///   - cursor: What the page follows.
  ///   - context: That of the fetch. It is told which writes the answer has, since the server says so:
  ///     their edits are not shown over it.
  /// - Throws: `URLError` if the server was not reached, `HTTPStatusError` if it refused.
  func get<Value: Decodable>(
    _ path: [String], after cursor: String? = nil, in context: QueryContext
  ) async throws -> Value {
    var url = self.url(path)
    if let cursor { url.append(queryItems: [URLQueryItem(name: "after", value: cursor)]) }
    let (value, response): (Value, _) = try await self.send(URLRequest(url: url))
    let applied = response.value(forHTTPHeaderField: "Idempotency-Applied") ?? ""
    let keys = applied.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    if !keys.isEmpty { context.fetchReceipt?.includes(keys: keys) }
    return value
  }

  /// Sends a change.
  ///
  /// - Parameter attempt: The attempt whose key goes with it: by the key the server tells a write
  ///   that is sent again, because its answer was lost, from a new one.
  func write<Value: Decodable>(
    _ method: String,
    _ path: [String],
    _ content: some Encodable,
    for attempt: MutationAttempt?
  ) async throws -> Value {
    var request = URLRequest(url: self.url(path))
    request.httpMethod = method
    request.httpBody = try JSONEncoder().encode(content)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    // URLSession on Linux notices only at the time-out that a used connection was closed.
    request.setValue("close", forHTTPHeaderField: "Connection")
    request.setValue(attempt?.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
    return try await self.send(request).value
  }

  private func send<Value: Decodable>(
    _ request: URLRequest
  ) async throws -> (value: Value, response: HTTPURLResponse) {
    var request = request
    // The user waits. A write that is not sent now is sent later.
    request.timeoutInterval = 5
    let (data, response) = try await URLSession.shared.answer(to: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    guard (200..<300).contains(response.statusCode) else {
      let header = response.value(forHTTPHeaderField: "Retry-After")
      throw HTTPStatusError(
        statusCode: response.statusCode,
        retryAfter: header.flatMap { HTTPStatusError.retryAfter(header: $0, now: Date()) })
    }
    return (try JSONDecoder().decode(Value.self, from: data), response)
  }

  private func url(_ path: [String]) -> URL {
    path.reduce(self.url) { $0.appending(component: $1) }
  }
}

extension QueryContext {
  /// The server that requests talk to.
  var notesServer: NotesServer {
    get { self[NotesServerKey.self] }
    set { self[NotesServerKey.self] = newValue }
  }

  private enum NotesServerKey: Key {
    static var defaultValue: NotesServer {
      NotesServer(url: URL(filePath: "/").appending(path: "no-server"))
    }
  }
}
