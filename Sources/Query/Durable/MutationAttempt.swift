public import FoundationEssentials

/// One attempt of a durable mutation, which reads it from ``QueryContext/mutationAttempt``.
///
/// ```swift
/// func mutate(with note: Note, in context: QueryContext, …) async throws -> Note {
///   var request = URLRequest(url: notes)
///   request.setValue(
///     context.mutationAttempt?.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
/// ```
/// Delivery is at least once: an attempt whose answer was lost, or whose process died, is made
/// again with the same key, by which the server must recognise that it has already carried it out.
public struct MutationAttempt: Sendable {
  /// The mutation's identifier, which its ticket has too.
  public let id: UUID
  /// The key by which the server recognises a repeated mutation. It never changes, unless a
  /// conflict is retried with other arguments.
  public let idempotencyKey: String
  /// Which attempt of the mutation this is, counted from 1.
  public let number: Int
  /// Whether this is not the attempt of the call that enqueued the mutation.
  public let isReplay: Bool
  /// Whether the server may have carried the mutation out in an earlier attempt.
  public let maybeApplied: Bool
  /// When the mutation was enqueued, by the wall clock.
  public let createdAt: Date
  /// The version that its arguments are stored with: lower than that of
  /// ``MutationPersistenceOptions/version`` if they have been upgraded. A server that compares requests
  /// refuses another one with the same key, so let the form of the request depend on this: it stays,
  /// whichever release sends it.
  public let storedVersion: Int

  private let aliases: AttemptAliases
  private let lease: MutationLease

  /// Tells how much of an upload has been sent: the store's history entry and the events of a replayer
  /// show it. Call it as often as you like; steps of less than a hundredth are left out. `HTTPMutation`
  /// does so for a body in a file.
  ///
  /// - Parameter progress: What has been sent of this attempt.
  public func report(_ progress: MutationProgress) { self.lease.note(progress) }

  /// The copies of the files that were given with the mutation, in that order: see
  /// ``MutationPersistenceOptions/bodies``. Each is read and compared with its checksum first. Read
  /// them in this attempt: they are removed when the mutation has ended.
  ///
  /// - Throws: ``MutationBodyError/damaged(name:)``: if the mutation rethrows it, it is dead;
  ///   ``StorageError``.
  public func bodies() async throws -> [URL] { try await self.aliases.outbox.bodies(of: self.id) }

  /// The first of ``bodies()``.
  ///
  /// - Throws: As ``bodies()``, and ``MutationBodyError/noFile`` if there is none.
  public func body() async throws -> URL {
    guard let body = try await self.bodies().first else { throw MutationBodyError.noFile }
    return body
  }

  init(lease: MutationLease, aliases: AttemptAliases) {
    self.id = lease.entry.id
    self.idempotencyKey = lease.entry.idempotencyKey
    self.number = lease.entry.attempts
    self.isReplay = lease.isReplay
    self.maybeApplied = lease.entry.maybeApplied
    self.storedVersion = lease.entry.version
    self.createdAt = lease.entry.createdAt
    self.aliases = aliases
    self.lease = lease
  }

  /// Publishes the value by which the server knows something that later mutations refer to by an
  /// alias. It is committed with the success of this attempt.
  ///
  /// - Parameters:
  ///   - alias: An identifier that is never reused, a UUID by convention.
  ///   - value: The server's name for it.
  /// - Throws: ``OutboxError/aliasTaken(_:)`` if the alias has another value; ``StorageError``.
  public func publish(alias: String, value: String) throws {
    try self.aliases.publish(alias, value)
  }

  /// The value that an earlier mutation has published for an alias.
  ///
  /// - Parameter alias: The alias.
  /// - Throws: ``MutationAliasError`` if there is none: if the mutation rethrows it, the mutation
  ///   waits for an earlier one, or is dead if no earlier one is live; ``StorageError``.
  public func resolve(_ alias: String) throws -> String { try self.aliases.resolve(alias) }
}

/// An alias has no value yet. See ``MutationAttempt/resolve(_:)``.
public struct MutationAliasError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The alias.
  public let alias: String

  /// What is missing, and what to do about it.
  public var description: String {
    """
    Nobody has published the alias \(self.alias). Let the mutation throw this error: it then waits for the \
    one that does.
    """
  }
}

/// The aliases of one attempt.
final class AttemptAliases: Sendable {
  let outbox: any MutationOutbox
  private let published = Locked([String: String]())

  init(_ outbox: any MutationOutbox) { self.outbox = outbox }

  var all: [String: String] { self.published.withLock { $0 } }

  func publish(_ alias: String, _ value: String) throws {
    let stored = try self.outbox.value(ofAlias: alias)
    let isTaken = self.published.withLock { published in
      if let other = stored ?? published[alias], other != value { return true }
      published[alias] = value
      return false
    }
    if isTaken { throw OutboxError.aliasTaken(alias) }
  }

  func resolve(_ alias: String) throws -> String {
    if let own = self.published.withLock({ $0[alias] }) { return own }
    guard let value = try self.outbox.value(ofAlias: alias) else {
      throw MutationAliasError(alias: alias)
    }
    return value
  }
}

extension QueryContext {
  /// The attempt that runs with this context; nil if the mutation is not durable.
  public internal(set) var mutationAttempt: MutationAttempt? {
    get { self[MutationAttemptKey.self] }
    set { self[MutationAttemptKey.self] = newValue }
  }

  private enum MutationAttemptKey: Key {
    static var defaultValue: MutationAttempt? { nil }
  }
}
