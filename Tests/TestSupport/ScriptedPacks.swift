public import Foundation
public import Query

/// Packs whose calls a test holds back, or whose handlers it does.
public struct ScriptedPacks: PackStorage {
  private let base: any PackStorage
  private let script: Script

  /// What a test does before or after a call; nothing by default.
  public struct Script: Sendable {
    /// After a reading, before it is handed out.
    public var didRead: @Sendable ([StoredPack]) async throws -> Void = { _ in }
    /// Before a removal, by a name or by an id.
    public var willRemove: @Sendable () async throws -> Void = {}
    /// After it.
    public var didRemove: @Sendable () async throws -> Void = {}
    /// Before results are recorded.
    public var willSettle: @Sendable ([PackResult]) async throws -> Void = { _ in }
    /// In the place of a handler of changes.
    public var handler: @Sendable (@escaping @Sendable () -> Void) -> @Sendable () -> Void = { $0 }

    /// Creates a script that does nothing.
    public init() {}
  }

  /// - Parameters:
  ///   - base: What holds the packs.
  ///   - edit: What the test does.
  public init(_ base: any PackStorage, _ edit: (inout Script) -> Void) {
    self.base = base
    var script = Script()
    edit(&script)
    self.script = script
  }

  public var limits: PackLimits { self.base.limits }

  public func keep(_ pack: NewPack) async throws -> StoredPack { try await self.base.keep(pack) }

  public func remove(_ name: String) async throws -> Bool {
    try await self.removing { try await self.base.remove(name) }
  }

  public func remove(_ id: UUID, ifEndedBy date: Date?) async throws -> Bool {
    try await self.removing { try await self.base.remove(id, ifEndedBy: date) }
  }

  private func removing(_ body: () async throws -> Bool) async throws -> Bool {
    try await self.script.willRemove()
    let isRemoved = try await body()
    try await self.script.didRemove()
    return isRemoved
  }

  public func packs() async throws -> [StoredPack] {
    let packs = try await self.base.packs()
    try await self.script.didRead(packs)
    return packs
  }

  public func renew(_ id: UUID) async throws -> StoredPack? { try await self.base.renew(id) }

  public func claim(_ request: PackClaimRequest) async throws -> PackClaim? {
    try await self.base.claim(request)
  }

  public func settle(
    _ results: [PackResult], of id: UUID, at now: Date
  ) async throws -> PackStanding? {
    try await self.script.willSettle(results)
    return try await self.base.settle(results, of: id, at: now)
  }

  public func subscribe(_ onChange: @escaping @Sendable () -> Void) -> QuerySubscription {
    self.base.subscribe(self.script.handler(onChange))
  }
}
