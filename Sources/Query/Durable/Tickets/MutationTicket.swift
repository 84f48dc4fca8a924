public import FoundationEssentials

/// A caller's handle on a mutation that was committed to the outbox.
///
/// ```swift
/// let ticket = try await store.enqueue(with: note)
/// let created = try await ticket.outcome()   // also when another process sends it
/// ```
/// Its ``id`` may be kept; `MutationTicket(id:in:)` gets the ticket back after a restart.
public struct MutationTicket<Value: Sendable>: Sendable, Identifiable {
  /// The mutation's identifier.
  public let id: UUID
  /// The key by which the server recognises a repeated mutation.
  public let idempotencyKey: String

  private let outbox: any MutationOutbox
  private let decode: @Sendable (RecordedMutation) throws -> Value
  private let showEnd: @Sendable (MutationStanding) -> Void

  init(
    id: UUID,
    idempotencyKey: String,
    outbox: any MutationOutbox,
    showEnd: @escaping @Sendable (MutationStanding) -> Void,
    decode: @escaping @Sendable (RecordedMutation) throws -> Value
  ) {
    self.id = id
    self.idempotencyKey = idempotencyKey
    self.outbox = outbox
    self.decode = decode
    self.showEnd = showEnd
  }

  /// Waits for the end of the mutation, whichever process sends it. If it is superseded, the wait
  /// goes on with its successor. When this returns, the stores of the client show what it says.
  ///
  /// - Returns: What the mutation returned.
  /// - Throws: ``MutationDeadError`` if it is dead; ``MutationEndedError`` if it ended otherwise, or so long
  ///   ago that its result is not kept;
  ///   ``MutationQueuedError`` with ``MutationWaitError`` if it is not decided yet and the caller runs
  ///   inside an attempt; `CancellationError` if the task is cancelled, which does nothing to the
  ///   mutation; ``StorageError``; what the coder throws.
  public func outcome() async throws -> Value {
    var id = self.id
    // With a thousand tickets, each is woken by its own row alone.
    var watch = OutboxWatch(self.outbox, of: id)
    while true {
      let standing = try self.outbox.standing(of: id)
      self.showEnd(standing)
      switch standing {
      case .dead(let entry):
        throw MutationDeadError(entry)
      case .ended(let record):
        guard let successor = record.successor else { return try self.decode(record.ofSuccess()) }
        id = successor
        watch = OutboxWatch(self.outbox, of: id)
      case .unknown:
        id = try self.outbox.successor(ofForgotten: id)
        watch = OutboxWatch(self.outbox, of: id)
      case .pending(let entry, _), .leased(let entry):
        if AttemptScope.isInside {
          throw MutationQueuedError(entry, underlying: MutationWaitError())
        }
        try await watch.nextChange()
      }
    }
  }
}

/// An attempt of a durable mutation waited for the outcome of another one, which may wait for it: none of
/// the two would ever end.
public struct MutationWaitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Creates an error.
  public init() {}

  /// What to do instead.
  public var description: String {
    """
    An attempt of a durable mutation does not wait for another one: enqueue that with dependsOn:, and let \
    it follow.
    """
  }
}
