import FoundationEssentials
import Query

/// The state that all runs of one replayer share: its slots, and the waits to release.
///
/// The slots and flags are read and written under a lock; nothing is called under it.
final class ReplayLedger: Sendable {
  private struct Guarded {
    var slots: ReplaySlots
    var probes = OfflineProbes()
    var signals = [Int: AsyncSignal]()
    var next = 0
    var wasOffline = false
    var links = 0
    // A new program may have other credentials, and read what another one could not; and the network may have
    // come back since another one has ended.
    var mustRelease: Set<MutationWaitReason> = [.authentication, .handler, .offline]
    var turns = 0
    var claims = 0
    var isClosed = false
  }

  private let guarded: Locked<Guarded>
  private let clock: ReplayClock

  init(_ configuration: ReplayConfiguration) {
    self.guarded = Locked(Guarded(slots: ReplaySlots(configuration)))
    self.clock = configuration.clock
  }

  /// How often runs checked whether there is something to do.
  var turns: Int { self.guarded.withLock { $0.turns } }

  /// How many claims were made on the outbox.
  var claims: Int { self.guarded.withLock { $0.claims } }

  /// How many attempts were begun, and how many of them run.
  var attempts: (begun: Int, running: Int) { self.guarded.withLock { $0.slots.attempts } }

  func countTurn() { self.guarded.withLock { $0.turns += 1 } }
}

// MARK: - Waking

extension ReplayLedger {
  /// Wakes a signal whenever there is room for more.
  func subscribe(_ signal: AsyncSignal) -> QuerySubscription {
    let number = self.guarded.withLock { ledger in
      ledger.next += 1
      ledger.signals[ledger.next] = signal
      return ledger.next
    }
    return QuerySubscription {
      self.guarded.withLock { ledger in ledger.signals[number] = nil }
    }
  }

  /// Wakes all runs.
  func wakeAll() {
    let signals = self.guarded.withLock { Array($0.signals.values) }
    for signal in signals { signal.wake() }
  }
}

// MARK: - Slots

extension ReplayLedger {
  /// Whether nothing runs and no claim is under way. If one is, its end wakes the runs that wait.
  func checkIdle() -> Bool {
    self.guarded.withLock { ledger in
      ledger.slots.noteLook()
      return ledger.slots.isIdle
    }
  }

  var nextSlot: Duration? {
    let now = self.clock.now()
    return self.guarded.withLock { $0.slots.nextSlot(after: now) }
  }

  func isRunning(_ id: UUID) -> Bool { self.guarded.withLock { $0.slots.isRunning(id) } }

  func isProbe(_ id: UUID) -> Bool { self.guarded.withLock { $0.slots.isProbe(id) } }

  /// Whether no further attempt may be made.
  var isUsedUp: Bool { self.guarded.withLock { $0.slots.isUsedUp || $0.isClosed } }

  /// Lets no further attempt be made: all runs end once theirs have.
  func close() {
    self.guarded.withLock { $0.isClosed = true }
    self.wakeAll()
  }

  /// When the next host is probed again while there is no network; nil if none waits for that.
  var nextProbe: Duration? {
    let now = self.clock.now()
    return self.guarded.withLock { $0.probes.next(after: now) }
  }

  /// See ``ReplaySlots/beginClaim(_:at:)``.
  ///
  /// - Parameter isProbing: Whether only probes are leased, because there may be no network.
  func beginClaim(
    _ handlers: Set<MutationHandler>, isProbing: Bool, batchLimits: [MutationHandler: Int] = [:]
  ) -> ClaimRequest? {
    let now = self.clock.now()
    return self.guarded.withLock { ledger in
      var request = ledger.slots.beginClaim(handlers, batchLimits: batchLimits, at: now)
      if request != nil { ledger.claims += 1 }
      if isProbing, var slots = request?.hostSlots {
        ledger.probes.restrict(&slots, at: now)
        request?.hostSlots = slots
      }
      return request
    }
  }

  /// See ``ReplaySlots/endClaim(_:at:)``.
  func endClaim(_ entries: [OutboxEntry], isProbing: Bool, wakingBut own: AsyncSignal) {
    let now = self.clock.now()
    let others = self.guarded.withLock { ledger -> [AsyncSignal] in
      let isNews = ledger.slots.endClaim(entries, at: now)
      if isProbing { ledger.probes.begin(entries) }
      guard isNews else { return [] }
      return ledger.signals.values.filter { $0 !== own }
    }
    for signal in others { signal.wake() }
  }

  /// See ``ReplaySlots/end(_:_:waiting:at:)``.
  func end(_ id: UUID, _ answer: HostAnswer, waiting: Int) {
    let now = self.clock.now()
    self.guarded.withLock { ledger in
      ledger.slots.end(id, answer, waiting: waiting, at: now)
      ledger.probes.end(id, answer, at: now)
    }
    self.wakeAll()
  }
}

// MARK: - Releasing

extension ReplayLedger {
  /// How often the network has come up or changed.
  var links: Int { self.guarded.withLock { $0.links } }

  /// Notes that the network is down, or has changed.
  func noteOffline() { self.guarded.withLock { $0.wasOffline = true } }

  /// Notes that the network is up. If it was down before, or has changed, hosts are probed, and rows that
  /// wait for the network are to be released.
  func noteOnline() {
    self.guarded.withLock { ledger in
      guard ledger.wasOffline else { return }
      ledger.wasOffline = false
      ledger.links += 1
      ledger.probes = OfflineProbes()
      ledger.slots.beginProbing()
      ledger.mustRelease.insert(.offline)
    }
  }

  /// Notes that an attempt was made while the network was down. If it is up now, the row may have begun to
  /// wait for the network after the other rows were released.
  func noteProbeEnd() { self.guarded.withLock { _ = $0.mustRelease.insert(.offline) } }

  /// Takes the wait reasons to release, so that no other run does. The run gives them back if the
  /// release fails.
  func takeReleases() -> Set<MutationWaitReason> {
    self.guarded.withLock { ledger in
      let reasons = ledger.mustRelease
      ledger.mustRelease = []
      return reasons
    }
  }

  /// Notes a new handler, which may be able to read arguments that the others could not.
  func noteHandler() { _ = self.guarded.withLock { $0.mustRelease.insert(.handler) } }

  func giveBack(_ reasons: Set<MutationWaitReason>) {
    self.guarded.withLock { $0.mustRelease.formUnion(reasons) }
  }
}
