import FoundationEssentials
import Query

/// How many mutations may be leased now, and for which hosts.
///
/// After the network has come back, each host gets one mutation at a time, its probe, until one is answered;
/// beside one that takes longer than ``HostStanding/probeTime`` another one is sent. Then the usual limits
/// apply; if many mutations wait, they are spread over some time. Times are those of
/// a ``ReplayClock``.
struct ReplaySlots: Sendable {
  private struct Delay {
    /// Nothing is leased for the host before this.
    var notBefore: Duration
    /// How long after each lease the next one may follow.
    var interval: Duration
    /// When the delay is over.
    var end: Duration
  }

  private struct Attempt {
    var host: String
    /// Whether its mutation was tried before.
    var isRepeat: Bool
    /// Whether another attempt of the same call has the slot.
    var isFollower: Bool
    var startedAt: Duration
    /// Whether it began on an earlier network, so that it takes no slot.
    var isSetAside = false

    /// How long it holds back the others of its host, if it is its probe.
    func probeLeft(at now: Duration) -> Duration? {
      if self.isSetAside || self.isFollower { return nil }
      let left = self.startedAt + HostStanding.probeTime - now
      return left > .zero ? left : nil
    }
  }

  private let limits: ReplayConfiguration
  private var running = [UUID: Attempt]()
  private var counts = [String: Int]()
  private var followers = 0
  private var setAside = 0
  private var delays = [String: Delay]()
  /// The hosts that answered since the network came back; nil if no host needs a probe.
  private var answered: Set<String>?
  /// The hosts whose last lease was a first try: their next lease is a repeat, if no repeat is running.
  private var hostsOfFirstTries = Set<String>()
  private var isClaiming = false
  /// Whether a run has looked meanwhile, so that it must look again.
  private var isClaimAwaited = false
  /// How many were leased until now.
  private var begun = 0

  /// How many hosts are remembered. Once more than that have answered, no host is probed.
  private static let maximumHosts = 1_024

  init(_ limits: ReplayConfiguration) { self.limits = limits }

  /// Whether nothing runs and no claim is under way.
  var isIdle: Bool { self.running.isEmpty && !self.isClaiming }

  /// Notes that a run looks at what is under way: if that is a claim, it must look again at its end.
  mutating func noteLook() { if self.isClaiming { self.isClaimAwaited = true } }

  /// How many attempts were begun, and how many of them run.
  var attempts: (begun: Int, running: Int) { (self.begun, self.running.count) }

  func isRunning(_ id: UUID) -> Bool { self.running[id] != nil }

  /// How many more attempts may be made.
  private var attemptsLeft: Int { (self.limits.maximumAttempts ?? .max) - self.begun }

  /// Whether no further attempt may be made.
  var isUsedUp: Bool { self.attemptsLeft <= 0 }
}

// MARK: - Claiming

extension ReplaySlots {
  /// Begins a claim. No other claim begins before ``endClaim(_:at:)``, so that two concurrent runs
  /// together keep to the limits.
  ///
  /// - Parameters:
  ///   - handlers: What may be leased.
  ///   - batchLimits: What may be leased together. If attempts are limited, each is made alone.
  ///   - now: The time.
  /// - Returns: The claim to make; nil if there is no room, or another run is claiming.
  mutating func beginClaim(
    _ handlers: Set<MutationHandler>, batchLimits: [MutationHandler: Int] = [:], at now: Duration
  ) -> ClaimRequest? {
    let calls = self.running.count - self.followers - self.setAside
    let room = min(self.limits.maximumConcurrency - calls, self.attemptsLeft)
    self.noteLook()
    guard room > 0, !self.isClaiming, !handlers.isEmpty else { return nil }
    self.delays = self.delays.filter { max($0.value.end, $0.value.notBefore) > now }
    self.isClaiming = true
    return ClaimRequest(
      .lowest(handledBy: handlers), limit: room, hostSlots: self.slots(at: now),
      lane: self.limits.lane,
      batchLimits: self.limits.maximumAttempts == nil ? batchLimits : [:])
  }

  /// Ends a claim.
  ///
  /// - Parameters:
  ///   - entries: What was leased.
  ///   - now: The time.
  /// - Returns: Whether other runs must look again. Two that woke each other after claims that found nothing
  ///   would never rest.
  @discardableResult
  mutating func endClaim(_ entries: [OutboxEntry], at now: Duration) -> Bool {
    let isNews = self.isClaimAwaited || !entries.isEmpty
    (self.isClaiming, self.isClaimAwaited) = (false, false)
    self.begun += entries.count
    var lane: String?
    for entry in entries {
      let isFollower = entry.lane != nil && entry.lane == lane
      lane = entry.lane
      let host = entry.effectiveHost
      let isRepeat = entry.attempts > 1
      self.running[entry.id] = Attempt(
        host: host, isRepeat: isRepeat, isFollower: isFollower, startedAt: now)
      if isFollower {
        self.followers += 1
        continue
      }
      if isRepeat {
        self.hostsOfFirstTries.remove(host)
      } else {
        if self.hostsOfFirstTries.count >= Self.maximumHosts { self.hostsOfFirstTries = [] }
        self.hostsOfFirstTries.insert(host)
      }
      self.counts[host, default: 0] += 1
      if let interval = self.delays[host]?.interval {
        self.delays[host]?.notBefore = now + interval
      }
    }
    return isNews
  }

  /// When a host that is at its limit may get more; nil if no host waits for a time.
  func nextSlot(after now: Duration) -> Duration? {
    let delayed = self.delays.values.map(\.notBefore).filter { $0 > now }.min()
    let probed = self.running.keys.compactMap { id in
      self.isProbe(id) ? self.running[id]?.probeLeft(at: now).map { now + $0 } : nil
    }.min()
    return [delayed, probed].compactMap(\.self).min()
  }

  private func slots(at now: Duration) -> HostSlots {
    let others = self.answered == nil ? self.limits.maximumPerHost : 1
    var slots = HostSlots(others: others)
    let hosts = Set(self.counts.keys).union(self.delays.keys).union(self.answered ?? [])
    for host in hosts { slots[host] = self.room(for: host, at: now) }
    slots.repeatsFirst = self.hostsOfFirstTries
    for attempt in self.running.values where attempt.isRepeat {
      slots.repeatsFirst.remove(attempt.host)
    }
    return slots
  }

  private func room(for host: String, at now: Duration) -> Int {
    let isProbed = self.answered?.contains(host) ?? true
    var room = self.limits.maximumPerHost - self.counts[host, default: 0]
    if !isProbed {
      let isUnderWay = self.running.values.contains {
        $0.host == host && $0.probeLeft(at: now) != nil
      }
      room = isUnderWay ? 0 : min(room, 1)
    }
    guard let delay = self.delays[host] else { return max(0, room) }
    return delay.notBefore > now ? 0 : max(0, min(room, 1))
  }
}

// MARK: - Probing

extension ReplaySlots {
  /// Lets each host have one mutation at a time until it answers. Running attempts began on an earlier
  /// network and may hang, so they take no slot; but no more of them are left aside than there are slots.
  mutating func beginProbing() {
    self.answered = []
    for (id, attempt) in self.running where !attempt.isSetAside && !attempt.isFollower {
      if self.setAside >= self.limits.maximumConcurrency { return }
      self.running[id]?.isSetAside = true
      self.setAside += 1
      self.free(attempt.host)
    }
  }

  private mutating func free(_ host: String) {
    let count = self.counts[host, default: 1] - 1
    self.counts[host] = count > 0 ? count : nil
  }

  /// Whether an answer to a running mutation would be the first of its host since the network came back.
  func isProbe(_ id: UUID) -> Bool {
    guard let answered = self.answered, let host = self.running[id]?.host else { return false }
    return !answered.contains(host)
  }

  /// Notes the end of an attempt.
  ///
  /// - Parameters:
  ///   - id: The mutation.
  ///   - answer: What it says about its host.
  ///   - waiting: How many mutations are pending, if it was a probe.
  ///   - now: The time.
  mutating func end(_ id: UUID, _ answer: HostAnswer, waiting: Int, at now: Duration) {
    let isProbe = self.isProbe(id)
    guard let attempt = self.running.removeValue(forKey: id) else { return }
    let host = attempt.host
    if attempt.isFollower {
      self.followers -= 1
    } else if attempt.isSetAside {
      self.setAside -= 1
    } else {
      self.free(host)
    }
    switch answer {
    case .answered where isProbe: self.open(host, waiting: waiting, at: now)
    case .answered, .unreachable, .nothing: break
    }
  }

  private mutating func open(_ host: String, waiting: Int, at now: Duration) {
    self.answered?.insert(host)
    if let answered = self.answered, answered.count > Self.maximumHosts { self.answered = nil }
    guard waiting > self.limits.maximumConcurrency else { return }
    self.delays[host] = Delay(
      notBefore: now, interval: self.limits.spread / waiting, end: now + self.limits.spread)
  }
}
