/// The status of a query: idle, loading, or with a result.
public enum QueryStatus<Value: Sendable>: Sendable {
  /// Nothing was fetched yet.
  case idle
  /// A fetch is under way.
  case loading
  /// The last update.
  case result(Result<Value, any Error>)
}

// MARK: - Cases

extension QueryStatus {
  /// Whether nothing was fetched yet.
  public var isIdle: Bool {
    if case .idle = self { true } else { false }
  }

  /// Whether a fetch is under way.
  public var isLoading: Bool {
    if case .loading = self { true } else { false }
  }

  /// Whether there is a result.
  public var isFinished: Bool { self.result != nil }

  /// Whether the result is a value.
  public var isSuccessful: Bool {
    if case .result(.success) = self { true } else { false }
  }

  /// Whether the result is an error.
  public var isFailure: Bool { self.resultError != nil }

  /// Whether the result is a `CancellationError`.
  public var isCancelled: Bool { self.resultError is CancellationError }

  /// The value of a successful result.
  public var resultValue: Value? { try? self.result?.get() }

  /// The error of a failed result.
  public var resultError: (any Error)? {
    if case .result(.failure(let error)) = self { error } else { nil }
  }

  /// The result, if there is one.
  public var result: Result<Value, any Error>? {
    if case .result(let result) = self { result } else { nil }
  }
}

// MARK: - Mapping

extension QueryStatus {
  /// Transforms the value of a successful result; all else stays as it is.
  ///
  /// - Parameter transform: Makes the new value.
  /// - Throws: What the transform throws.
  public func mapSuccess<NewValue, E: Error>(
    _ transform: (Value) throws(E) -> NewValue
  ) throws(E) -> QueryStatus<NewValue> {
    try self.flatMapSuccess { value throws(E) in .result(.success(try transform(value))) }
  }

  /// Replaces a successful result by a status that is made from its value; all else stays as it is.
  ///
  /// - Parameter transform: Makes the new status.
  /// - Throws: What the transform throws.
  public func flatMapSuccess<NewValue, E: Error>(
    _ transform: (Value) throws(E) -> QueryStatus<NewValue>
  ) throws(E) -> QueryStatus<NewValue> {
    switch self {
    case .idle: .idle
    case .loading: .loading
    case .result(.failure(let error)): .result(.failure(error))
    case .result(.success(let value)): try transform(value)
    }
  }
}
