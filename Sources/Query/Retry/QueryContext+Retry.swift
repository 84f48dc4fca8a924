/// What a context knows of retries.
@usableFromInline
struct RetryValues: Sendable {
  @usableFromInline var index = 0
  @usableFromInline var limit = 0
  /// How many retry layers the request has, as counted at setup.
  @usableFromInline var layerCount = 0
  /// How many of them this fetch has passed.
  @usableFromInline var passedLayers = 0
  /// Whether a layer around this one already retries.
  @usableFromInline var isRetrying = false
  /// Whether the limit comes from a client's defaults, and not from a request.
  @usableFromInline var isDefault = false

  @inlinable
  init() {}
}

extension QueryContext {
  @inlinable
  var retryValues: RetryValues {
    get { self[RetryKey.self] }
    set { self[RetryKey.self] = newValue }
  }

  /// Notes a retry layer inside those that are noted: its limit counts.
  @inlinable
  mutating func addRetryLayer(limit: Int, isDefault: Bool) {
    self.retryValues.limit = limit
    self.retryValues.isDefault = isDefault
    self.retryValues.layerCount += 1
  }

  /// Starts anew with the retry layers of another store's request. The limit stays: it is a setting.
  mutating func takeRetryLayers(of other: QueryContext) {
    var values = RetryValues()
    values.limit = self.retryValues.limit
    values.layerCount = other.retryValues.layerCount
    values.isDefault = other.retryValues.isDefault
    self.retryValues = values
  }

  @usableFromInline
  enum RetryKey: Key {
    @inlinable static var defaultValue: RetryValues { RetryValues() }
  }

  /// How many attempts of this fetch failed before this one.
  public var retryIndex: Int {
    get { self.retryValues.index }
    set { self.retryValues.index = newValue }
  }

  /// How many times a failed fetch is retried. A negative number counts as 0.
  public var maxRetries: Int {
    get { self.retryValues.limit }
    set { self.retryValues.limit = newValue }
  }

  /// Whether nothing has failed yet.
  public var isFirstFetchAttempt: Bool { self.retryIndex == 0 }

  /// Whether this is the second attempt.
  public var isFirstRetryAttempt: Bool { self.retryIndex == 1 }

  /// Whether there is no attempt after this one. True for the only attempt, too.
  public var isLastRetryAttempt: Bool { self.retryIndex == self.maxRetries }
}
