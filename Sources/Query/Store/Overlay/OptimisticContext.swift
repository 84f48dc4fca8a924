public import FoundationEssentials

/// What an edit of ``MutationRequest/optimistic(on:whenDead:_:)`` knows of the mutation that it shows.
public struct OptimisticContext: Sendable {
  /// Where a mutation stands.
  public enum Standing: Hashable, Sendable {
    /// It waits; nil: for nothing but its turn.
    case waiting(MutationWaitReason?)
    /// It is being sent.
    case running
    /// The server has carried it out, and the value may be older than that.
    case acknowledged
    /// It is stored for a person or the application, and is not sent.
    case dead(MutationDeadReason)
  }

  /// The mutation's identifier, which its ticket has too.
  public let mutationID: UUID
  /// Its number in the order of enqueueing.
  public let number: Int
  /// When it was enqueued, by the wall clock.
  public let createdAt: Date
  /// Where it stands.
  public let standing: Standing
  /// Whether an earlier attempt may have been carried out: the value may have the edit already.
  public let maybeApplied: Bool

  let aliases: AliasReader?

  /// The value that a mutation has published for an alias, such as the server's identifier of a record
  /// that was created under another one.
  ///
  /// - Parameter name: The alias, as ``MutationAttempt`` publishes it.
  /// - Returns: Nil if no mutation has published it yet, or the storage cannot be read now.
  public func alias(_ name: String) -> String? { self.aliases?.value(of: name) }
}

/// What becomes of an edit while its mutation is dead.
public enum DeadEdit: Hashable, Sendable {
  /// It is not shown, unless somebody retries the mutation.
  case dropped
  /// It is shown until somebody retries or discards the mutation, beneath what was entered later.
  case kept
}

/// A change that is shown and that no server has acknowledged yet.
public struct PendingChange: Hashable, Sendable, Identifiable {
  /// The mutation's identifier, which its ticket has too.
  public let id: UUID
  /// The name that the mutation was persisted as.
  public let name: String
  /// Its number in the order of enqueueing.
  public let number: Int
  /// Its lane, by which a list may find the item that it is of; nil: one of its own.
  public let lane: String?
  /// Where it stands.
  public let standing: OptimisticContext.Standing
  /// What the last attempt failed with; nil: none has.
  public let lastError: RestoredError?
}

/// Reads aliases, and keeps what is published: that never changes.
final class AliasReader: Sendable {
  private let outbox: any MutationOutbox
  private let known = Locked([String: String]())

  init(_ outbox: any MutationOutbox) { self.outbox = outbox }

  func value(of name: String) -> String? {
    if let value = self.known.withLock({ $0[name] }) { return value }
    let value = try? self.outbox.value(ofAlias: name)
    if let value { self.known.withLock { $0[name] = value } }
    return value
  }

  func forget() { self.known.withLock { $0 = [:] } }
}
