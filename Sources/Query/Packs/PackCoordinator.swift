import FoundationEssentials

/// The packs of one client: an object for each, the code that makes their members, and the runners that fetch
/// them.
///
/// Locking: `guarded` has its own lock, under which nothing is called.
final class PackCoordinator: Sendable {
  private struct Guarded {
    var packs = [String: OfflinePack]()
    var runners = [UUID: PackRunner]()
    /// The members of lists that were kept in this launch.
    var code = [UUID: [QueryIdentity: PackMember]]()
    var types = [String: Factory]()
    /// The subscription to the storage's changes.
    var follower: Follower?
  }

  /// Makes a member from the bytes of a request.
  typealias Factory = @Sendable (Data, PackPages?) throws -> PackMember

  /// What it follows the storage by.
  private struct Follower: Sendable {
    let subscription: QuerySubscription
    var tasks = [Task<Void, Never>]()
  }

  weak let client: QueryClient?
  /// nil: the client has none.
  private let storage: (any QueryStorage)?
  private let guarded = Locked(Guarded())
  private let hasChanged = AsyncSignal()

  init(_ client: QueryClient) {
    self.client = client
    self.storage = client.defaultContext.queryStorage
  }

  deinit {
    let (follower, runners) = self.guarded.withLock { ($0.follower, Array($0.runners.values)) }
    follower?.subscription.cancel()
    for task in follower?.tasks ?? [] { task.cancel() }
    for runner in runners { runner.end() }
  }

  private func requireStorage() throws(PackError) -> any QueryStorage {
    guard let storage else { throw .noStorage }
    return storage
  }
}

// MARK: - What a program asks for

extension PackCoordinator {
  func keep(
    _ new: NewPack, _ code: [QueryIdentity: PackMember], _ packs: OfflinePacks
  ) async throws -> OfflinePack {
    let storage = try self.requireStorage()
    self.follow(storage)
    let stored = try await storage.packs.keep(new)
    let old = self.guarded.withLock { guarded in
      defer { guarded.code[stored.id] = code }
      return guarded.code[stored.id]
    }
    withExtendedLifetime(old) {}
    let pack = self.object(for: stored, packs)
    self.start(stored, pack, storage)
    // The list is shown at once, over what a runner may have shown since it was committed.
    self.hasChanged.wake()
    return pack
  }

  func list(_ packs: OfflinePacks) async throws -> [OfflinePack] {
    let storage = try self.requireStorage()
    self.follow(storage)
    let before = self.shown
    return try await storage.packs.packs().map { self.object(for: $0, since: before, packs) }
  }

  func resume(_ packs: OfflinePacks) async throws -> [OfflinePack] {
    let storage = try self.requireStorage()
    self.follow(storage)
    let now = self.client?.defaultContext.queryClock.now() ?? Date()
    var resumed = [OfflinePack]()
    for stored in try await storage.packs.packs() {
      // It may have been kept for longer since the reading.
      if stored.hasEnded(by: now), try await storage.packs.remove(stored.id, ifEndedBy: now) {
        self.didRemove(stored)
        continue
      }
      let before = self.shown
      guard let renewed = try await storage.packs.renew(stored.id) else { continue }
      let pack = self.object(for: renewed, since: before, packs)
      // Of a pack that was kept under the name since, that has begun.
      if pack.status.value.stored.id == renewed.id { self.start(renewed, pack, storage) }
      resumed.append(pack)
    }
    return resumed
  }

  func remove(_ name: String) async throws -> Bool {
    let storage = try self.requireStorage()
    let known = self.guarded.withLock { $0.packs[name] }
    let found = try await storage.packs.packs().first { $0.name == name }
    var isRemoved = false
    if let found {
      isRemoved = try await storage.packs.remove(found.id, ifEndedBy: nil)
      self.didRemove(found)
    }
    // It is the one that was found, or was gone when the packs were read.
    if let known { self.didVanish(known) }
    return isRemoved
  }

  func remove(_ pack: OfflinePack) async throws {
    let storage = try self.requireStorage()
    _ = try await storage.packs.remove(pack.status.value.stored.id, ifEndedBy: nil)
    self.didVanish(pack)
  }

  func stop() async {
    let runners = self.guarded.withLock { guarded in
      defer { guarded.runners = [:] }
      return Array(guarded.runners.values)
    }
    for runner in runners { runner.end() }
    for runner in runners { await runner.waitUntilEnded() }
  }

  func register(_ name: String, _ factory: @escaping Factory) {
    self.guarded.withLock { $0.types[name] = factory }
  }
}

// MARK: - Objects and runners

extension PackCoordinator {
  /// The member of a claim; nil: there is no code for it.
  func member(_ claimed: PackClaim.Member, of id: UUID) -> PackMember? {
    let (code, factory) = self.guarded.withLock { guarded in
      (guarded.code[id]?[claimed.identity], claimed.request.flatMap { guarded.types[$0.name] })
    }
    // How many pages are fetched is the list's to say; an infinite query needs the code of one.
    if let code, (code.pages == nil) == (claimed.pages == nil) { return code }
    // If it cannot be decoded, another release has written it: it counts as unknown.
    guard let factory, let request = claimed.request, let client,
      let member = try? factory(request.data, claimed.pages)
    else { return nil }
    // So does one whose value would be stored under another query's name.
    return (try? member.identity(client)) == claimed.identity ? member : nil
  }

  /// What an object shows at some time.
  private struct Shown: Sendable {
    let pack: OfflinePack
    let stored: StoredPack
  }

  /// What all objects show, by their names. Taken before a reading, which is newer than that, while it may be
  /// older than what they show when it is there.
  private var shown: [String: Shown] {
    self.guarded.withLock { $0.packs }
      .mapValues { Shown(pack: $0, stored: $0.status.value.stored) }
  }

  /// The client's object for a pack; a new object if the name belongs to another pack by now.
  ///
  /// - Parameters:
  ///   - stored: The pack.
  ///   - before: What was shown before it was read; nil: it was just kept, and is shown in any case.
  /// - Returns: The object; that of a later pack if one was kept under the name since it was read.
  private func object(
    for stored: StoredPack, since before: [String: Shown]? = nil, _ packs: OfflinePacks
  ) -> OfflinePack {
    let made = OfflinePack(stored, packs)
    let (pack, gone) = self.guarded.withLock { guarded -> (OfflinePack, OfflinePack?) in
      if let known = guarded.packs[stored.name], !known.isGone {
        if known.status.value.stored.id == stored.id { return (known, nil) }
        if let before, before[stored.name]?.pack !== known { return (known, nil) }
      }
      defer { guarded.packs[stored.name] = made }
      return (made, guarded.packs[stored.name])
    }
    if let gone { gone.show { $0.state = .stopped(.gone(pack: gone.name)) } }
    if pack === made || before == nil {
      self.show(stored, in: pack)
    } else if let shown = before?[stored.name], shown.pack === pack {
      if self.take(stored, in: pack, insteadOf: shown.stored) { return pack }
    }
    // What is there by now: it was changed since, or removed.
    self.hasChanged.wake()
    return pack
  }

  /// Shows what was read, and lets its runner go on if there is something for it.
  ///
  /// - Returns: Whether it is shown; false: something else was shown since the reading began.
  private func take(
    _ now: StoredPack, in pack: OfflinePack, insteadOf before: StoredPack
  ) -> Bool {
    guard self.show(now, in: pack, insteadOf: before) else { return false }
    // Also if it was shown already: a list shows what the follower has not read yet.
    if now.counts.waiting > 0 || before.counts.claimed > now.counts.claimed {
      self.guarded.withLock { $0.runners[now.id] }?.storageDidChange()
    }
    return true
  }

  /// - Parameter before: The state that it must show now; nil: any state.
  /// - Returns: Whether it did.
  @discardableResult
  private func show(
    _ stored: StoredPack, in pack: OfflinePack, insteadOf before: StoredPack? = nil
  ) -> Bool {
    var isShown = true
    pack.show { status in
      isShown = before == nil || status.stored == before
      guard isShown else { return }
      status.stored = stored
      let counts = stored.counts
      // Another process may have fetched it.
      if status.state == .idle, counts.done == counts.total { status.state = .complete }
      if status.state == .complete, counts.done < counts.total { status.state = .idle }
    }
    return isShown
  }

  private func start(_ stored: StoredPack, _ pack: OfflinePack, _ storage: any QueryStorage) {
    guard let client else { return }
    let made = PackRunner(stored, pack, storage, client, self)
    let (runner, isNew) = self.guarded.withLock { guarded in
      if let runner = guarded.runners[stored.id] { return (runner, false) }
      guarded.runners[stored.id] = made
      return (made, true)
    }
    if !isNew { runner.restart(stored) }
    pack.show { if $0.state != .complete || !isNew { $0.state = .fetching } }
    // Last: what it finds from now on is shown over that, also if it is at its end at once.
    if isNew { runner.start() } else { runner.wake() }
  }

  /// The object of the name may be that of a pack that was kept since.
  private func didRemove(_ stored: StoredPack) {
    let pack = self.guarded.withLock { $0.packs[stored.name] }
    if let pack, pack.status.value.stored.id == stored.id { self.didVanish(pack) }
  }

  private func didVanish(_ pack: OfflinePack) {
    let id = pack.status.value.stored.id
    let (runner, code) = self.guarded.withLock { guarded in
      if guarded.packs[pack.name] === pack { guarded.packs[pack.name] = nil }
      return (guarded.runners.removeValue(forKey: id), guarded.code.removeValue(forKey: id))
    }
    runner?.end()
    pack.show { $0.state = .stopped(.gone(pack: pack.name)) }
    withExtendedLifetime(code) {}
  }
}

// MARK: - Following the storage

extension PackCoordinator {
  /// Follows the storage, from the first call on.
  func follow(_ storage: any QueryStorage) {
    if self.guarded.withLock({ $0.follower != nil }) { return }
    let signal = self.hasChanged
    let subscription = storage.packs.subscribe { signal.wake() }
    let isFirst = self.guarded.withLock { guarded in
      if guarded.follower != nil { return false }
      guarded.follower = Follower(subscription: subscription)
      return true
    }
    // Only one task may wait for the signal, so they are begun by the first caller alone.
    guard isFirst else { return subscription.cancel() }
    let events = storage.events
    let tasks = [
      Task.detached { [weak self] in
        while !Task.isCancelled {
          await signal.wait()
          await self?.look(storage)
        }
      },
      Task.detached { [weak self] in
        for await event in events {
          switch event {
          case .recovered, .setAside:
            self?.wakeAll()
            signal.wake()
          default: break
          }
        }
      },
    ]
    self.guarded.withLock { $0.follower?.tasks = tasks }
  }

  private func wakeAll() {
    for runner in self.guarded.withLock({ Array($0.runners.values) }) { runner.wake() }
  }

  /// Takes what has changed until now, with what this process has still to write.
  func lookAtAll() async {
    guard let storage else { return }
    // If that cannot be written, it has changed nothing on the disk.
    try? await storage.flush()
    await self.look(storage)
  }

  /// Takes what this process or another one has changed.
  private func look(_ storage: any QueryStorage) async {
    // Before the reading: a runner may show a newer state while it is on its way.
    let known = self.shown.values
    if known.isEmpty { return }
    // If the packs cannot be read now, they are read after the next change.
    guard let stored = try? await storage.packs.packs() else { return }
    for shown in known {
      guard let now = stored.first(where: { $0.id == shown.stored.id }) else {
        self.didVanish(shown.pack)
        continue
      }
      if !self.take(now, in: shown.pack, insteadOf: shown.stored) { self.hasChanged.wake() }
    }
  }
}
