public import Foundation

/// What one holds of a mutation that was committed to the outbox.
///
/// ```swift
/// let ticket = try await store.enqueue(with: note)
/// let created = try await ticket.outcome()   // also when another process sends it
/// ```
/// Its ``id`` may be kept; `MutationTicket(id:in:)` gets the ticket back after a restart.
public struct MutationTicket<Value: Sendable>: Sendable, Identifiable {
  /// The mutation's identifier.
  public let id: UUID
  /// What the server tells two sendings of the mutation by.
  public let idempotencyKey: String

  private let outbox: any MutationOutbox
  private let decode: @Sendable (RecordedMutation) throws -> Value

  init(
    id: UUID,
    idempotencyKey: String,
    outbox: any MutationOutbox,
    decode: @escaping @Sendable (RecordedMutation) throws -> Value
  ) {
    self.id = id
    self.idempotencyKey = idempotencyKey
    self.outbox = outbox
    self.decode = decode
  }

  /// Waits for the end of the mutation, whoever sends it. That of one that was superseded goes on with
  /// its successor.
  ///
  /// - Returns: What the mutation returned.
  /// - Throws: ``MutationDeadError`` where it is dead; ``MutationEndedError`` where it ended otherwise;
  ///   `CancellationError` where the task is cancelled, which does nothing to the mutation;
  ///   ``StorageError``; what the coder throws.
  public func outcome() async throws -> Value {
    var id = self.id
    let watch = OutboxWatch(self.outbox)
    while true {
      switch try self.outbox.standing(of: id) {
      case .dead(let entry):
        throw MutationDeadError(
          id: id, reason: entry.deadReason ?? .rejected, lastError: entry.lastError)
      case .ended(let record):
        guard let successor = record.successor else { return try self.value(of: record) }
        id = successor
      case .unknown: throw MutationEndedError(id: id, reason: .unknown)
      case .pending, .leased: try await watch.nextChange()
      }
    }
  }

  private func value(of record: RecordedMutation) throws -> Value {
    guard case .ended(let outcome) = record.state else {
      throw MutationEndedError(id: record.id, reason: .unknown)
    }
    switch outcome {
    case .succeeded: return try self.decode(record)
    case .cancelled: throw MutationEndedError(id: record.id, reason: .cancelled)
    case .discarded: throw MutationEndedError(id: record.id, reason: .discarded)
    case .superseded: throw MutationEndedError(id: record.id, reason: .superseded)
    }
  }
}

/// Waits for changes of an outbox; none since its creation is missed.
final class OutboxWatch: Sendable {
  private struct Guarded {
    var hasChanged = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let guarded: Locked<Guarded>
  private let subscription: QuerySubscription

  init(_ outbox: any MutationOutbox) {
    let guarded = Locked(Guarded())
    self.guarded = guarded
    self.subscription = outbox.subscribe { _ in Self.wake(guarded) }
  }

  /// Returns at the next change, or at once where there was one since the last call.
  ///
  /// - Throws: `CancellationError`.
  func nextChange() async throws {
    try Task.checkCancellation()
    let guarded = self.guarded
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDue = guarded.withLock { watch in
          if watch.hasChanged || Task.isCancelled {
            watch.hasChanged = false
            return true
          }
          watch.waiter = continuation
          return false
        }
        if isDue { continuation.resume() }
      }
    } onCancel: {
      Self.wake(guarded)
    }
    try Task.checkCancellation()
  }

  private static func wake(_ guarded: Locked<Guarded>) {
    let waiter = guarded.withLock { watch in
      let waiter = watch.waiter
      watch.waiter = nil
      watch.hasChanged = waiter == nil
      return waiter
    }
    waiter?.resume()
  }
}
