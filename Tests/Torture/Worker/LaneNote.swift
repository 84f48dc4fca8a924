import Query

/// The arguments of the bench's mutation.
struct LaneNote: Codable, Sendable {
  var lane: String
  var writer: String
  var number: Int
  /// What makes it long.
  var text: String

  /// What stands for it in the logs.
  var mutation: SentMutation {
    SentMutation(lane: self.lane, writer: self.writer, number: self.number)
  }
}

/// Sends a note to the bench's server.
struct SendNote: MutationRequest {
  let place: Workplace

  var path: QueryPath { ["send-note"] }

  func mutate(
    with note: LaneNote,
    in context: QueryContext,
    with continuation: QueryContinuation<Void>
  ) async throws {
    guard let attempt = context.mutationAttempt else { throw CancellationError() }
    try await self.place.receive(note.mutation, key: attempt.idempotencyKey)
  }
}
