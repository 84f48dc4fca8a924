import FoundationEssentials

/// The packs of a ``MemoryQueryStorage``. It evicts nothing and takes any number of bytes.
///
/// Locking: the table has its own lock, under which nothing is called but the storage's own.
final class MemoryPacks: PackStorage {
  let limits = PackLimits(ofStorageWith: .max, entries: .max)

  private let table = Locked((packs: PackTable(), isClosed: false))
  private let listeners = RecipientList<Void>()
  private let entries: @Sendable ([QueryIdentity]) -> [QueryIdentity: Int]

  /// - Parameter entries: How many bytes those entries have that have a value.
  init(entries: @escaping @Sendable ([QueryIdentity]) -> [QueryIdentity: Int]) {
    self.entries = entries
  }

  func keep(_ pack: NewPack) async throws -> StoredPack {
    try self.change("keep a pack") { [limits] table in
      try table.keep(pack, limit: limits.entries)
    }
  }

  func remove(_ name: String) async throws -> Bool {
    try self.change("remove a pack") { $0.remove(name) }
  }

  func remove(_ id: UUID, ifEndedBy date: Date?) async throws -> Bool {
    try self.change("remove a pack") { $0.remove(id, ifEndedBy: date) }
  }

  func packs() async throws -> [StoredPack] {
    try self.table.withLock { table in
      try Self.requireOpen("read packs", table.isClosed)
      return table.packs.all
    }
  }

  func renew(_ id: UUID) async throws -> StoredPack? {
    let known = self.entries(self.identities(of: id))
    return try self.change("renew a pack") { $0.renew(id) { known[$0] } }
  }

  func claim(_ request: PackClaimRequest) async throws -> PackClaim? {
    let claim = try self.change("claim", isTold: false) { [limits] in
      $0.claim(request, limit: limits.bytes)
    }
    // A runner that only looks must not wake the others, which would look then.
    if claim?.members.isEmpty == false { self.tell() }
    return claim
  }

  func settle(
    _ results: [PackResult], of id: UUID, at now: Date
  ) async throws -> PackStanding? {
    let known = self.entries(results.map(\.identity))
    return try self.change("settle") { [limits] table in
      table.settle(results, of: id, at: now, limit: limits.bytes) { known[$0] }
    }
  }

  func subscribe(_ onChange: @escaping @Sendable () -> Void) -> QuerySubscription {
    self.listeners.subscribe(onChange)
  }

  /// Lets packs fetch anew what has no entry any more.
  func lose(_ identity: QueryIdentity) {
    if self.table.withLock({ $0.packs.lose(identity) }) { self.tell() }
  }

  /// Forgets all packs.
  func erase() {
    self.table.withLock { $0.packs.removeAll() }
    self.tell()
  }

  func close() { self.table.withLock { $0.isClosed = true } }

  private func identities(of id: UUID) -> [QueryIdentity] {
    self.table.withLock { table in
      table.packs.packs.values.first { $0.stored.id == id }?.order ?? []
    }
  }

  private func change<R: Sendable>(
    _ operation: String, isTold: Bool = true, _ body: @Sendable (inout PackTable) throws -> R
  ) throws -> R {
    let result = try self.table.withLock { table in
      try Self.requireOpen(operation, table.isClosed)
      return try body(&table.packs)
    }
    if isTold { self.tell() }
    return result
  }

  private func tell() {
    self.listeners.post([()])
    self.listeners.deliver()
  }

  private static func requireOpen(_ operation: String, _ isClosed: Bool) throws(StorageError) {
    if !isClosed { return }
    throw StorageError(operation: operation, code: .misuse, message: "the storage is closed")
  }
}
