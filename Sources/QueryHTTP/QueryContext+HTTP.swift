public import Query

extension QueryContext {
  /// The secrets that requests of HTTP refer to by name. None by default.
  ///
  /// ```swift
  /// client.defaultContext.httpCredentials = credentials
  /// ```
  public var httpCredentials: HTTPCredentials {
    get { self[HTTPCredentialsKey.self] }
    set { self[HTTPCredentialsKey.self] = newValue }
  }

  /// What reads are sent through. ``HTTPTransport/shared`` by default.
  public var httpTransport: HTTPTransport {
    get { self[HTTPTransportKey.self] }
    set { self[HTTPTransportKey.self] = newValue }
  }

  /// How many bytes the answer to a read may have, unpacked; 64 MiB by default. A longer one is an
  /// ``HTTPBodyError``.
  public var httpAnswerLimit: Int {
    get { self[HTTPAnswerLimitKey.self] }
    set { self[HTTPAnswerLimitKey.self] = newValue }
  }

  /// What makes values of the answers to reads. ``Query/QueryCoder/json`` by default.
  public var httpCoder: any QueryCoder {
    get { self[HTTPCoderKey.self] }
    set { self[HTTPCoderKey.self] = newValue }
  }

  private enum HTTPCredentialsKey: Key {
    static var defaultValue: HTTPCredentials { HTTPCredentials() }
  }

  private enum HTTPTransportKey: Key {
    static var defaultValue: HTTPTransport { .shared }
  }

  private enum HTTPAnswerLimitKey: Key {
    static var defaultValue: Int { 64 << 20 }
  }

  private enum HTTPCoderKey: Key {
    static var defaultValue: any QueryCoder { .json }
  }
}
