/// A mutation made of a closure, for one that needs no type of its own.
///
/// ```swift
/// let create = BlockMutation(["create-post"]) { (title: String, context) in
///   try await api.createPost(title: title, key: context.mutationAttempt?.idempotencyKey)
/// }
/// try await client.store(for: create).mutate(with: "Hello")
/// ```
/// Its identity is its path: a closure has none. A client runs the closure with which the store of a
/// path was made; another closure under the same path is never run.
///
/// `persisted(as:)` takes it as any mutation. The row of a write holds the name, the path and the
/// arguments, and no closure: every launch makes the mutation anew, with the same name and path, and
/// registers it with its replayer. So what a write needs belongs to the arguments, and not to what the
/// closure captures, which a later launch does not have.
public struct BlockMutation<Arguments: Sendable, ReturnValue: Sendable>: MutationRequest {
  /// What a fetch produces.
  public typealias Value = MutationValue<ReturnValue>

  /// The state that a store keeps.
  public typealias State = MutationState<Arguments, ReturnValue>

  @usableFromInline
  typealias Mutate =
    @Sendable (
      Arguments, QueryContext, QueryContinuation<ReturnValue>
    ) async throws -> ReturnValue

  /// The identity of the mutation.
  public let path: QueryPath

  @usableFromInline let _mutate: Mutate

  /// Makes a mutation.
  ///
  /// - Parameters:
  ///   - path: The identity of the mutation.
  ///   - mutate: Makes one attempt, with its arguments and the values that it runs with. What it throws
  ///     becomes the result of the attempt.
  @inlinable
  public init(
    _ path: QueryPath,
    mutate: @escaping @Sendable (Arguments, QueryContext) async throws -> ReturnValue
  ) {
    self.path = path
    self._mutate = { arguments, context, _ in try await mutate(arguments, context) }
  }

  /// Makes a mutation that knows values before the final one.
  ///
  /// - Parameters:
  ///   - path: The identity of the mutation.
  ///   - mutate: Makes one attempt, with its arguments, the values that it runs with, and the
  ///     continuation that takes earlier values. What it throws becomes the result of the attempt.
  @inlinable
  public init(
    _ path: QueryPath,
    mutate:
      @escaping @Sendable (
        Arguments, QueryContext, QueryContinuation<ReturnValue>
      ) async throws -> ReturnValue
  ) {
    self.path = path
    self._mutate = mutate
  }

  /// Makes a mutation without arguments.
  ///
  /// - Parameters:
  ///   - path: The identity of the mutation.
  ///   - mutate: Makes one attempt, with the values that it runs with. What it throws becomes the result
  ///     of the attempt.
  @inlinable
  public init(
    _ path: QueryPath,
    mutate: @escaping @Sendable (QueryContext) async throws -> ReturnValue
  ) where Arguments == Void {
    self.path = path
    self._mutate = { _, context, _ in try await mutate(context) }
  }

  public var _debugTypeName: String { BlockName.of("BlockMutation", self.path) }

  @inlinable
  public func mutate(
    with arguments: Arguments,
    in context: QueryContext,
    with continuation: QueryContinuation<ReturnValue>
  ) async throws -> ReturnValue {
    try await self._mutate(arguments, context, continuation)
  }
}
