public import FoundationEssentials

/// A mutation is dead: it is kept, and not sent, until a caller retries or discards it.
public struct MutationDeadError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The mutation's identifier.
  public let id: UUID
  /// Why it is dead.
  public let reason: MutationDeadReason
  /// The error of the last attempt; nil if there was no attempt.
  public let lastError: RestoredError?

  /// Creates an error. See the properties for what each is.
  public init(id: UUID, reason: MutationDeadReason, lastError: RestoredError? = nil) {
    self.id = id
    self.reason = reason
    self.lastError = lastError
  }

  init(_ entry: OutboxEntry) {
    self.init(
      id: entry.id, reason: entry.deadReason ?? .rejected, lastError: entry.lastError)
  }

  /// Why it is dead, and what to do about it.
  public var description: String {
    let cause = self.lastError.map { " The last attempt failed: \($0)" } ?? ""
    return """
      The mutation \(self.id) is dead (\(self.reason.rawValue)) and kept, until it is retried or \
      discarded.\(cause)
      """
  }
}

/// A mutation ended without having succeeded, or its result is lost.
public struct MutationEndedError: Error, Hashable, Sendable, CustomStringConvertible {
  /// How a mutation can end without a result.
  public enum Reason: String, Hashable, Sendable {
    /// A caller has cancelled it.
    case cancelled
    /// A caller has discarded it when it was dead.
    case discarded
    /// What the server has took its place.
    case superseded
    /// It has succeeded, so long ago that the history has forgotten its result.
    case succeeded
    /// There is no mutation of this identifier in the storage: it was erased, or it ended so long ago
    /// that not even that is remembered.
    case unknown
  }

  /// The mutation's identifier.
  public let id: UUID
  /// How it ended.
  public let reason: Reason

  /// Creates an error. See the properties for what each is.
  public init(id: UUID, reason: Reason) {
    self.id = id
    self.reason = reason
  }

  /// How it ended, and what that leaves to do.
  public var description: String {
    switch self.reason {
    case .cancelled, .discarded:
      "The mutation \(self.id) was \(self.reason.rawValue), and is not sent. Enqueue another one."
    case .superseded:
      "The mutation \(self.id) is not sent: a later one, or what the server has, took its place."
    case .succeeded:
      """
      The mutation \(self.id) has succeeded, so long ago that its result is not kept. Fetch what it \
      changed.
      """
    case .unknown:
      """
      There is no mutation \(self.id): it was erased, ended long ago, or is another account's. Fetch what \
      it would have changed.
      """
    }
  }
}

extension MutationDeadError: FinalError {}

extension MutationEndedError: FinalError {}
