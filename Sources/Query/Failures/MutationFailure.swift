/// Why an attempt of a durable mutation failed, by what to do about it.
public enum MutationFailure: Hashable, Sendable {
  /// The server was not reached, or its answer was lost. Nothing is charged; it is tried again when
  /// the network is back.
  case connectivity
  /// The server cannot do it now. It is tried again later, not before the time that the server
  /// names.
  case transient(retryAfter: Duration?)
  /// The server does not know the sender. The lane waits for other credentials.
  case authentication
  /// The data that the mutation changes has changed meanwhile.
  case conflict
  /// It will never succeed.
  case permanent(reason: String)
  /// A caller cancelled the attempt. It is due again at once.
  case cancelled

  /// Whether the server was reached, so that the attempt counts against `maxAttempts`.
  public var isCharged: Bool {
    switch self {
    case .transient, .conflict, .permanent: true
    case .connectivity, .authentication, .cancelled: false
    }
  }
}

/// Throw this from a mutation that the server has carried out but whose answer is of no use: it
/// counts as succeeded, with a warning, and is not sent again.
public struct MutationAppliedError: Error, CustomStringConvertible {
  /// What was wrong with the answer.
  public let underlying: any Error

  /// Creates an error.
  ///
  /// - Parameter underlying: What was wrong with the answer.
  public init(underlying: any Error) { self.underlying = underlying }

  /// What was wrong with the answer.
  public var description: String {
    "The server has carried the mutation out, but its answer is of no use: "
      + ErrorText.of(self.underlying)
  }
}

/// Throw this from a mutation that certainly has not reached the server: the host was not found, the
/// connection was refused. It waits for the network, and the attempt is not counted.
///
/// The library knows this of `URLError` and of the system's codes, as in `POSIXError`. Other
/// transports, of gRPC or of a database's driver, have errors of their own.
public struct MutationUnreachedError: Error, CustomStringConvertible {
  /// Why the server was not reached.
  public let underlying: any Error

  /// Creates an error.
  ///
  /// - Parameter underlying: Why the server was not reached.
  public init(underlying: any Error) { self.underlying = underlying }

  /// Why the server was not reached.
  public var description: String {
    "The server was not reached: \(ErrorText.of(self.underlying))"
  }
}

extension MutationFailure {
  /// The class, as it is recorded with the attempt.
  package var word: String {
    switch self {
    case .connectivity: "connectivity"
    case .transient: "transient"
    case .authentication: "authentication"
    case .conflict: "conflict"
    case .permanent: "permanent"
    case .cancelled: "cancelled"
    }
  }
}

extension MutationAppliedError: FinalError {}
