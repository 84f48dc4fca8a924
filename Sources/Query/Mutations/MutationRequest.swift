/// A request that changes something, with arguments that are given to each attempt.
///
/// ```swift
/// struct CreatePlayer: MutationRequest, Hashable {
///   struct Arguments: Sendable { let name: String }
///
///   func mutate(
///     with arguments: Arguments,
///     in context: QueryContext,
///     with continuation: QueryContinuation<Player>
///   ) async throws -> Player {
///     try await api.createPlayer(name: arguments.name)
///   }
/// }
///
/// try await client.store(for: CreatePlayer()).mutate(with: .init(name: "Blob"))
/// ```
/// Its store keeps a history of the attempts. Attempts are neither serialised nor deduplicated.
public protocol MutationRequest<Arguments, ReturnValue>: QueryRequest
where Value == MutationValue<ReturnValue>, State == MutationState<Arguments, ReturnValue> {
  /// What an attempt is given.
  associatedtype Arguments: Sendable

  /// What a successful attempt returns.
  associatedtype ReturnValue: Sendable

  /// Makes one attempt.
  ///
  /// - Parameters:
  ///   - arguments: What the attempt was given.
  ///   - context: The values that this attempt runs with.
  ///   - continuation: Takes values that are known before the final one.
  /// - Returns: The final value.
  /// - Throws: Any error; it becomes the result of the attempt.
  func mutate(
    with arguments: Arguments,
    in context: QueryContext,
    with continuation: QueryContinuation<ReturnValue>
  ) async throws -> ReturnValue
}

extension MutationRequest {
  /// Makes an attempt with the arguments of the context.
  ///
  /// - Throws: ``MissingMutationArgumentsError`` if the context has no arguments; what `mutate` throws.
  @inlinable
  public func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Value>
  ) async throws -> Value {
    guard let arguments = context[QueryContext.MutationArgumentsKey<Arguments>.self] else {
      throw MissingMutationArgumentsError(mutation: self._debugTypeName)
    }
    let returnValue = try await self.mutate(
      with: arguments,
      in: context,
      with: QueryContinuation { result, context in
        continuation.yield(with: result.map { MutationValue(returnValue: $0) }, using: context)
      }
    )
    return MutationValue(returnValue: returnValue)
  }
}

extension MutationRequest where Arguments == Void {
  /// Makes one attempt.
  ///
  /// - Parameters:
  ///   - context: The values that this attempt runs with.
  ///   - continuation: Takes values that are known before the final one.
  /// - Throws: What the attempt throws.
  @discardableResult
  public func mutate(
    in context: QueryContext,
    with continuation: QueryContinuation<ReturnValue>
  ) async throws -> ReturnValue {
    try await self.mutate(with: (), in: context, with: continuation)
  }
}

/// What a fetch of a mutation produces.
public struct MutationValue<ReturnValue: Sendable>: Sendable {
  /// What the attempt returned.
  public let returnValue: ReturnValue

  @usableFromInline
  init(returnValue: ReturnValue) { self.returnValue = returnValue }
}

/// The error of a mutation that was fetched or retried without arguments, and whose history has no earlier ones.
public struct MissingMutationArgumentsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The name of the mutation's type.
  public let mutation: String

  /// Creates an error.
  ///
  /// - Parameter mutation: The name of the mutation's type.
  public init(mutation: String) { self.mutation = mutation }

  /// A sentence for the developer.
  public var description: String {
    """
    \(self.mutation) was fetched or retried without arguments, and there is no earlier attempt to \
    take them from. Call `mutate(with:)` first.
    """
  }
}
