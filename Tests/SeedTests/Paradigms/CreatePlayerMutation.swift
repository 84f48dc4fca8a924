import Query

// Document 004, "Mutations": block 7.

struct CreatePlayerMutation: MutationRequest, Hashable {
  struct Arguments: Sendable {
    let name: String
    let number: Int
  }

  func mutate(
    with arguments: Arguments,
    in context: QueryContext,
    with continuation: QueryContinuation<Player>
  ) async throws -> Player {
    // POST to the API to create a player...
    try await context.playersAPI.createPlayer(name: arguments.name, number: arguments.number)
  }
}
