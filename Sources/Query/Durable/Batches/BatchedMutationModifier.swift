extension MutationRequest {
  /// Lets a replayer send several durable mutations of one lane in one call, if more than one is ready: a
  /// day's edits need a few requests then, and not one each.
  ///
  /// ```swift
  /// let edits = EditNote().persisted(as: "edit-note", .init(scope: .named("notes")))
  ///   .batched(upTo: 50) { edits, _ in
  ///     let answers = try await server.send(edits.map { ($0.attempt.idempotencyKey, $0.arguments) })
  ///     return answers.map { $0.isAccepted ? .success(()) : .failure($0.error) }
  ///   }
  /// ```
  /// Delivery stays at least once, each mutation with a key of its own: a server that knows a key answers
  /// as it did, and a call that was cut short is made again. The mutations are given in their order, and the
  /// server carries them out in that order.
  ///
  /// The result at a place decides about the mutation at that place: it succeeds, or fails as it would
  /// alone. If there are fewer results than mutations, the server has stopped there: the others wait for the
  /// next call, which counts for nothing. One behind a failure that has a result of its own ends by that.
  ///
  /// If the closure throws, the first mutation has failed with that, and the others wait behind it,
  /// which counts for nothing either. An error that refuses what was sent, or is not known, says nothing
  /// about any one of them: the first is sent alone at once, by ``MutationRequest/mutate(with:in:with:)``,
  /// and so is whatever has failed before, or ran when its process crashed. Nobody pays for another one's
  /// fault.
  ///
  /// The call goes past the modifiers of the mutation. `attemptTimeout` limits the call as a whole. If a
  /// caller cancels one of the mutations, the call goes on for the others; before the call has begun, those
  /// behind it wait for the next one.
  ///
  /// - Parameters:
  ///   - maximum: How many mutations one call has at most, 1 or more; with 1 each is sent alone.
  ///   - send: Sends two mutations or more. Its context is that of the first one, without a `mutationAttempt`:
  ///     each of them has one.
  public func batched(
    upTo maximum: Int,
    _ send:
      @escaping @Sendable ([BatchedMutation<Arguments>], QueryContext) async throws
      -> [Result<ReturnValue, any Error>]
  ) -> ModifiedQuery<Self, _BatchedMutationModifier<Self>> {
    self.modifier(
      _BatchedMutationModifier(batching: MutationBatching(maximum: maximum, send: send)))
  }
}

/// A durable mutation among those that one call sends: see ``MutationRequest/batched(upTo:_:)``.
public struct BatchedMutation<Arguments: Sendable>: Sendable {
  /// What the mutation is given.
  public let arguments: Arguments
  /// Its attempt, with the key by which the server recognises it.
  public let attempt: MutationAttempt
}

public struct _BatchedMutationModifier<Query: MutationRequest>: _ContextUpdatingQueryModifier {
  let batching: MutationBatching<Query.Arguments, Query.ReturnValue>

  public func setup(context: inout QueryContext) { context.mutationBatching = self.batching }
}

/// How mutations are sent together.
struct MutationBatching<Arguments: Sendable, Value: Sendable>: Sendable {
  let maximum: Int
  let send:
    @Sendable ([BatchedMutation<Arguments>], QueryContext) async throws -> [Result<
      Value, any Error
    >]
}

extension QueryContext {
  /// How the mutations of this context are sent together, a ``MutationBatching``; nil: each alone.
  var mutationBatching: (any Sendable)? {
    get { self[MutationBatchingKey.self] }
    set { self[MutationBatchingKey.self] = newValue }
  }

  private enum MutationBatchingKey: Key {
    static var defaultValue: (any Sendable)? { nil }
  }
}

/// Why a mutation was not sent with others, or it is not known whether it was. It counts for nothing.
struct LeftOutOfBatch: Error, CustomStringConvertible {
  /// Whether the server may have carried it out.
  let maybeApplied: Bool

  var description: String {
    self.maybeApplied
      ? "the call that sent it with others failed" : "it was left out of a call with others"
  }
}

/// A call that sends several mutations has answered for none of them.
struct EmptyBatchAnswer: Error, CustomStringConvertible {
  var description: String { "The call for several mutations has no result for the first of them." }
}
