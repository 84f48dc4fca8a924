extension QueryWarning {
  /// A continuation was used after its fetch had returned.
  ///
  /// - Parameter result: The yielded result.
  public static func queryYieldedAfterReturning<Value>(
    _ result: Result<Value, any Error>
  ) -> QueryWarning {
    """
    A query yielded a result after it had returned: \(result). The result is dropped. Yield before \
    `fetch` returns; use a QueryController for values that arrive later.
    """
  }

  /// A task was scheduled after one that waits for it.
  ///
  /// - Parameter info: The circle, from the task that was scheduled to the one that repeats.
  public static func queryTaskCircularScheduling(info: [QueryTaskInfo]) -> QueryWarning {
    """
    A query task would wait for itself: \
    \(info.map(\.description).joined(separator: " -> ")). The dependency that closes the circle is \
    not added. Schedule tasks only after tasks that do not wait for them.
    """
  }

  /// A query was fetched from inside of its own fetch, directly or through another one.
  ///
  /// - Parameter paths: The paths of the queries that wait for one another, from the one that is
  ///   fetched to the one that fetches it.
  public static func queryFetchesItself(paths: [QueryPath]) -> QueryWarning {
    """
    A query is fetched from inside of its own fetch, and would wait for itself: \
    \(paths.map(\.description).joined(separator: " -> ")). The inner fetch does not wait for the \
    outer one. Let the inner fetch be one of another query.
    """
  }

  /// A mutation was fetched without arguments, and had none before.
  public static var mutationWithNoArgumentsOrHistory: QueryWarning {
    """
    A mutation was retried or fetched without arguments, and there is no earlier attempt to take \
    them from. Nothing runs. Call `mutate(with:)` first.
    """
  }

  /// Two query types have one path.
  ///
  /// - Parameters:
  ///   - expectedType: The query type that the client's store at this path was made for.
  ///   - foundType: The query type for which a caller requested the store.
  public static func duplicatePath(
    expectedType: Any.Type,
    foundType: Any.Type
  ) -> QueryWarning {
    """
    \(TypeName.of(foundType, generics: .kept)) has the path of \
    \(TypeName.of(expectedType, generics: .kept)), for which the client has a store already. A new \
    store is returned that the client does not keep. Give each query type a path of its own.
    """
  }

  /// A controller used its controls after the store was released.
  ///
  /// - Parameter stateType: The type of the store's state.
  public static func controllerDeallocatedStoreAccess(stateType: Any.Type) -> QueryWarning {
    """
    A QueryController used the controls of a QueryStore<\(TypeName.of(stateType, generics: .kept))> \
    that is gone. Nothing happens. End the controller's work in the QuerySubscription that \
    `control(with:)` returns.
    """
  }

  /// A backoff function returned a delay that is negative, infinite or not a number.
  ///
  /// - Parameters:
  ///   - query: The name of the query.
  ///   - seconds: The delay, in seconds.
  public static func invalidDelay(query: String, seconds: Double) -> QueryWarning {
    """
    The backoff function of \(query) returned a delay of \(seconds) seconds. It is taken as 0. \
    Return a finite delay that is not negative.
    """
  }

  /// A request gave more metadata to a value than a value can have.
  ///
  /// - Parameter bytes: How many.
  public static func metadataTooLong(bytes: Int) -> QueryWarning {
    """
    A request gave \(bytes) bytes of metadata to its value, which may have \
    \(ValueRecord.maximumMetadataBytes). The value is kept without metadata. Keep validators and \
    cursors there, and all else in the value.
    """
  }
}
