import Foundation
import FoundationNetworking
import Query
import QueryHTTP

/// The routes of a server of notes.
///
/// Queries and mutations find it in their context, so that a test can put another one there.
struct NotesServer: Sendable {
  let url: URL

  /// The user waits. A write that is not sent now is sent later.
  static let patience = Duration.seconds(5)

  /// A read, which sends the validator of the stored value. The queries of this program use it to fetch; they
  /// have paths of their own, without the server's address.
  ///
  /// - Parameter path: Its parts, which may hold any character.
  func read<Value: Codable & Sendable>(
    _ path: [String], after cursor: String? = nil
  ) -> HTTPQuery<Value> {
    var url = self.url(path)
    if let cursor { url.append(queryItems: [URLQueryItem(name: "after", value: cursor)]) }
    return HTTPQuery(url, expects: HTTPExpectation(contentTypes: ["application/json"]))
  }

  /// The stream of changes.
  var events: EventStream { EventStream(self.url(["events"])) }

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
    request.setValue(attempt?.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
    return try await self.send(request)
  }

  private func send<Value: Decodable>(
    _ request: URLRequest
  ) async throws -> Value {
    var request = request
    request.timeoutInterval = Self.patience / .seconds(1)
    let (data, _) = try await HTTPTransport.shared.answer(to: request)
    return try JSONDecoder().decode(Value.self, from: data)
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
