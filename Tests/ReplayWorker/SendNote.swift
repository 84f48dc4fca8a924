import Foundation
import FoundationNetworking
import Query
import QueryHTTP

/// What the processes of the tests send.
struct LaneNote: Codable, Sendable {
  var lane: String
  var number: Int
  var photo: URL?
}

/// Sends a note to the server of a test, with all that the server's log is to show.
struct SendNote: MutationRequest {
  let server: URL
  var label = "note"

  var path: QueryPath { ["send-\(self.label)"] }

  func mutate(
    with note: LaneNote,
    in context: QueryContext,
    with continuation: QueryContinuation<Void>
  ) async throws {
    guard let attempt = context.mutationAttempt else { throw CancellationError() }
    var request = URLRequest(url: self.server)
    request.httpMethod = "POST"
    // A test decides when an answer comes, and a busy machine when it goes on.
    request.timeoutInterval = 3_600
    request.setValue(attempt.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
    request.setValue(note.lane, forHTTPHeaderField: "X-Lane")
    request.setValue("\(note.number)", forHTTPHeaderField: "X-Number")
    request.setValue("\(attempt.maybeApplied)", forHTTPHeaderField: "X-Maybe-Applied")
    if note.photo != nil { request.httpBody = try Data(contentsOf: try await attempt.body()) }
    _ = try await HTTPTransport.shared.answer(to: request)
  }
}

extension SendNote {
  /// Sends several notes in one request, with all that the server's log is to show of each.
  static func send(_ notes: [BatchedMutation<LaneNote>], to server: URL) async throws
    -> [Result<Void, any Error>]
  {
    var request = URLRequest(url: server)
    request.httpMethod = "POST"
    request.timeoutInterval = 3_600
    let texts = notes.map { note in
      "\(note.arguments.lane) \(note.arguments.number) \(note.attempt.idempotencyKey) "
        + "\(note.attempt.maybeApplied)"
    }
    request.setValue(texts.joined(separator: ";"), forHTTPHeaderField: "X-Batch")
    _ = try await HTTPTransport.shared.answer(to: request)
    return notes.map { _ in .success(()) }
  }
}
