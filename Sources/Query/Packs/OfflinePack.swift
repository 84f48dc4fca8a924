public import FoundationEssentials
public import Observation

/// A list of queries that is kept on this machine, whole, until it is removed.
///
/// ``QueryClient/keep(_:until:refreshEvery:network:_:)`` returns it, and ``OfflinePacks`` of an earlier
/// launch's. A client has one object for a pack, whose properties Observation tracks.
public final class OfflinePack: Observable, Sendable {
  /// The name.
  public let name: String

  struct Status: Hashable, Sendable {
    var stored: StoredPack
    var state: PackState
  }

  let status: ObserverList<Status>
  private let registrar = ObservationRegistrar()
  private let packs: OfflinePacks

  /// Stands for all that changes.
  private var shown: Void { () }

  init(_ stored: StoredPack, _ packs: OfflinePacks) {
    self.name = stored.name
    self.packs = packs
    self.status = ObserverList(Status(stored: stored, state: .idle))
  }

  /// How far it is, also if another process fetches it.
  public var progress: PackProgress {
    self.registrar.access(self, keyPath: \.shown)
    return PackProgress(self.status.value.stored.counts)
  }

  /// What this process does for it.
  public var state: PackState {
    self.registrar.access(self, keyPath: \.shown)
    return self.status.value.state
  }

  /// When it was kept, for the first time.
  public var createdAt: Date { self.status.value.stored.createdAt }

  /// What one of its failed members failed with; nil: none has.
  public var failure: String? {
    self.registrar.access(self, keyPath: \.shown)
    return self.status.value.stored.failure
  }

  /// Progress and state, from now on: each access returns a stream of its own, which begins with those of
  /// now, keeps the newest that was not taken, and ends when the pack is gone.
  public var updates: PackUpdates { PackUpdates(pack: self) }

  /// Waits until all of it is there, however old: a refresh that is due may be waited for, or not. What was
  /// reset or removed since is not there, and is fetched again.
  ///
  /// A task that is cancelled gives up waiting; the pack goes on. The client stays alive meanwhile, which
  /// fetches what is missing.
  ///
  /// - Returns: How far it is then.
  /// - Throws: ``PackError`` if it stops before; `CancellationError` if the task was cancelled.
  @discardableResult
  public func whole() async throws -> PackProgress {
    let client = self.packs.coordinator.client
    defer { withExtendedLifetime(client) {} }
    // A member may have been reset since, and the removal be on its way to the disk.
    if self.status.value.state == .complete { await self.packs.coordinator.lookAtAll() }
    for await (progress, state) in self.updates.stream {
      switch state {
      case .complete: return progress
      case .stopped(let error): throw error
      case .fetching: continue
      case .idle, .waiting:
        if client == nil { throw PackError.clientGone(pack: self.name) }
      }
    }
    try Task.checkCancellation()
    throw PackError.gone(pack: self.name)
  }

  /// Removes it, and no other one that was kept under its name since. Its entries stay, and age as others do
  /// unless another pack has them.
  ///
  /// - Throws: ``StorageError``.
  public func remove() async throws { try await self.packs.coordinator.remove(self) }

  /// Shows something else, if it is something else.
  func show(_ edit: (inout Status) -> Void) {
    if self.status.edit(edit) { self.registrar.withMutation(of: self, keyPath: \.shown) {} }
  }

  var isGone: Bool { self.status.value.state == .stopped(.gone(pack: self.name)) }
}

/// Progress and state of a pack, as they change.
public struct PackUpdates: AsyncSequence, Sendable {
  /// Progress, and state.
  public typealias Element = (progress: PackProgress, state: PackState)
  public typealias Failure = Never

  let pack: OfflinePack

  public func makeAsyncIterator() -> Iterator {
    Iterator(base: self.stream.makeAsyncIterator())
  }

  var stream: AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(1))
    let subscription = self.pack.status.subscribe(emittingFirst: true) { [name = self.pack.name] in
      continuation.yield((PackProgress($0.stored.counts), $0.state))
      if $0.state == .stopped(.gone(pack: name)) { continuation.finish() }
    }
    continuation.onTermination = { _ in subscription.cancel() }
    return stream
  }

  /// Takes the changes one after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<Element>.Iterator
    private var last: Element?

    fileprivate init(base: AsyncStream<Element>.Iterator) { self.base = base }

    /// The next change; nil when the pack is gone or the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> Element? {
      // What the pack keeps besides changes, too.
      while let next = await self.base.next(isolation: actor) {
        if let last, last == next { continue }
        self.last = next
        return next
      }
      return nil
    }
  }
}
