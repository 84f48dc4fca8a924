public import Foundation

/// What became of a mutation.
public enum MutationStanding: Sendable {
  /// It waits. It is next if nothing, or only leased rows before it in its lane, keeps it from
  /// running.
  case pending(OutboxEntry, isNext: Bool)
  /// It runs.
  case leased(OutboxEntry)
  /// It is dead.
  case dead(OutboxEntry)
  /// It ended, and is in the history.
  case ended(RecordedMutation)
  /// There is no mutation of this identifier, or it ended so long ago that the history has
  /// forgotten it.
  case unknown
}

/// A mutation as a store restores it: ended, live or dead.
public struct RecordedMutation: Hashable, Sendable, Identifiable {
  /// How a mutation ended.
  public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The server has carried it out.
    case succeeded
    /// A caller has cancelled it.
    case cancelled
    /// A later mutation, or the server's version, superseded it.
    case superseded
    /// A caller has discarded it when it was dead.
    case discarded
  }

  /// Its state.
  public enum State: Hashable, Sendable {
    /// It waits, or runs, or is dead.
    case outbox(OutboxEntry.State, MutationWaitReason?, MutationDeadReason?)
    /// It ended.
    case ended(Outcome)
  }

  /// The mutation's identifier.
  public let id: UUID
  /// The place in the order of enqueueing.
  public var number: Int
  /// Its state.
  public var state: State
  /// The key by which the server recognised a repeated mutation.
  public var idempotencyKey: String
  /// The version of the coded arguments.
  public var version: Int
  /// The name of the coder of arguments and result.
  public var coder: String
  /// The coded arguments.
  public var arguments: Data
  /// The coded result of a success, if there is one.
  public var result: Data?
  /// What the last attempt failed with.
  public var error: RestoredError?
  /// How many attempts were begun.
  public var attempts: Int
  /// When it was enqueued, by the wall clock.
  public var createdAt: Date
  /// When it ended, or an attempt failed last, by the wall clock.
  public var updatedAt: Date?
  /// The mutation that superseded it.
  public var successor: UUID?

  /// Creates a record. See the properties for what each is.
  public init(
    id: UUID,
    number: Int,
    state: State,
    idempotencyKey: String,
    version: Int,
    coder: String,
    arguments: Data,
    result: Data? = nil,
    error: RestoredError? = nil,
    attempts: Int = 0,
    createdAt: Date,
    updatedAt: Date? = nil,
    successor: UUID? = nil
  ) {
    self.id = id
    self.number = number
    self.state = state
    self.idempotencyKey = idempotencyKey
    self.version = version
    self.coder = coder
    self.arguments = arguments
    self.result = result
    self.error = error
    self.attempts = attempts
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.successor = successor
  }
}
