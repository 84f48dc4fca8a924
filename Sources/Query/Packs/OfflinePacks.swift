/// The packs of a client: ``QueryClient/packs``.
///
/// ```swift
/// client.packs.register(PhotoQuery.self)
/// for pack in try await client.packs.resume() { print(pack.name, pack.progress) }
/// ```
public struct OfflinePacks: Sendable {
  let coordinator: PackCoordinator

  /// All packs of the storage, by their names, also those that another process has kept.
  ///
  /// - Throws: ``StorageError``.
  public func list() async throws -> [OfflinePack] { try await self.coordinator.list(self) }

  /// A pack, if there is one of this name.
  ///
  /// - Parameter name: The name.
  /// - Throws: ``StorageError``.
  public func pack(named name: String) async throws -> OfflinePack? {
    try await self.list().first { $0.name == name }
  }

  /// Goes on with all packs: at the beginning of a launch, to try again what failed, and after
  /// ``stop()``. Packs that have come to their end are removed.
  ///
  /// What is missing is fetched in the background. It returns as soon as that has begun.
  ///
  /// - Returns: The packs.
  /// - Throws: ``StorageError``.
  @discardableResult
  public func resume() async throws -> [OfflinePack] { try await self.coordinator.resume(self) }

  /// Stops fetching for all packs in this process, and returns when it has stopped. What is there stays.
  public func stop() async { await self.coordinator.stop() }

  /// Removes a pack. Its entries stay, and age as others do unless another pack has them.
  ///
  /// - Parameter name: The name.
  /// - Returns: Whether there was one.
  /// - Throws: ``StorageError``.
  @discardableResult
  public func remove(_ name: String) async throws -> Bool {
    try await self.coordinator.remove(name)
  }

  /// Makes a type of requests known, so that packs of earlier launches go on with them.
  ///
  /// - Parameter type: The type. One of the same name takes the place of an earlier one.
  public func register<R: PackableRequest>(_ type: R.Type)
  where R.State == QueryState<R.Value?, R.Value>, R.Value: Codable {
    self.coordinator.register(R.packName) { request, _ in
      PackMember(try JSONQueryCoder().decode(R.self, from: request)) {
        QueryState(initialValue: nil)
      }
    }
  }

  /// Makes a type of infinite queries known, so that packs of earlier launches go on with them.
  ///
  /// - Parameter type: The type. One of the same name takes the place of an earlier one.
  public func register<R: PackableRequest & InfiniteQueryRequest>(_ type: R.Type)
  where R.PageID: Codable, R.PageValue: Codable {
    self.coordinator.register(R.packName) { request, pages in
      PackMember(try JSONQueryCoder().decode(R.self, from: request), pages ?? .all)
    }
  }
}
