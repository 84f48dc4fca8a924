public import FoundationEssentials

/// What of a storage keeps packs: their lists, and how far each query of them is. The values are entries
/// like all others, which a storage does not evict while they are in a pack.
///
/// ``QueryClient/keep(_:until:refreshEvery:network:_:)`` uses it; a program uses ``QueryClient/packs``.
/// Any number of processes may work on one pack: each claims members, fetches them, and settles what it
/// has claimed. What a process that has died had claimed can be claimed again.
public protocol PackStorage: Sendable {
  /// How much all packs of this account may have.
  var limits: PackLimits { get }

  /// Keeps a list under a name. If the name has one, it is replaced: what is in both keeps its state,
  /// unless it has failed, and what is in the old one alone is no longer kept for this pack.
  ///
  /// - Parameter pack: The list, without a query twice.
  /// - Returns: The pack, when it is committed.
  /// - Throws: ``PackError/tooManyMembers(pack:members:limit:)``; ``StorageError``: then the name has what
  ///   it had.
  func keep(_ pack: NewPack) async throws -> StoredPack

  /// Removes a pack. Its entries stay, and age as others do unless another pack has them.
  ///
  /// - Parameter name: The name.
  /// - Returns: Whether there was one.
  /// - Throws: ``StorageError``.
  func remove(_ name: String) async throws -> Bool

  /// Removes a pack by its id: one of the same name that was kept since stays.
  ///
  /// - Parameters:
  ///   - id: The pack.
  ///   - date: It is removed only if its end has come by then, which is looked at in the same transaction,
  ///     since it may have been kept for longer a moment ago; nil: it is removed in any case.
  /// - Returns: Whether it was removed.
  /// - Throws: ``StorageError``.
  func remove(_ id: UUID, ifEndedBy date: Date?) async throws -> Bool

  /// All packs of this account, by their names.
  ///
  /// - Throws: ``StorageError``.
  func packs() async throws -> [StoredPack]

  /// Lets everything be tried again: members that failed or waited for their code, and those whose entry
  /// is gone.
  ///
  /// - Parameter id: The pack.
  /// - Returns: The pack; nil if there is none any more.
  /// - Throws: ``StorageError``.
  func renew(_ id: UUID) async throws -> StoredPack?

  /// Claims members that are to be fetched, for this process.
  ///
  /// - Parameter request: Of which pack, and how many.
  /// - Returns: The members; nil if there is no such pack any more.
  /// - Throws: ``StorageError``.
  func claim(_ request: PackClaimRequest) async throws -> PackClaim?

  /// Records what became of members that this process has claimed. What was written before, as by
  /// ``QueryStorage/flush()``, is seen by it.
  ///
  /// - Parameters:
  ///   - results: What became of which.
  ///   - id: The pack.
  ///   - now: The date of the results.
  /// - Returns: The pack, and the room that is left; nil if there is no such pack any more.
  /// - Throws: ``StorageError``: then nothing is recorded.
  func settle(_ results: [PackResult], of id: UUID, at now: Date) async throws -> PackStanding?

  /// Calls a handler after each change of a pack, by this process or another one, and when the file was
  /// replaced.
  ///
  /// - Parameter onChange: Called without a lock, on the thread of the storage; it must not wait.
  func subscribe(_ onChange: @escaping @Sendable () -> Void) -> QuerySubscription
}

/// How much all packs of an account may have: nine tenths of what the storage may have. An eviction
/// brings it down to that, so packs that had more would leave no other query its entry.
public struct PackLimits: Hashable, Sendable {
  /// How many bytes.
  public let bytes: Int
  /// How many queries.
  public let entries: Int

  /// Creates limits.
  ///
  /// - Parameters:
  ///   - bytes: How many bytes the storage may have.
  ///   - entries: How many entries the storage may have.
  public init(ofStorageWith bytes: Int, entries: Int) {
    self.bytes = bytes - bytes / 10
    self.entries = entries - entries / 10
  }
}
