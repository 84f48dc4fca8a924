import Foundation
import Query
import TestSupport

/// The network and the servers of a simulated day, and what they saw.
final class FieldWorld: Sendable {
  /// The answer of a portal in place of a server's.
  fileprivate struct PortalAnswer: UnansweredError {}

  fileprivate struct Lane {
    var entered = [(write: FieldWrite, time: Duration)]()
    /// How many of those have ended, and when the last one did.
    var ended = 0
    var lastEnd = Duration.zero
    /// The numbers of what was carried out.
    var applied = [Int]()
  }

  fileprivate struct Guarded {
    var random: SeededGenerator
    var link = FieldPlan.Link.down
    var linkChanges = 0
    var moods = [FieldPlan.Mood](repeating: .well, count: FieldPlan.hosts)
    /// Since when each host is well and reached.
    var wellSince = [Duration?](repeating: nil, count: FieldPlan.hosts)
    /// Until when each host has asked to be left alone.
    var askedUntil = [Duration](repeating: .zero, count: FieldPlan.hosts)
    var lanes = [Lane](repeating: Lane(), count: FieldPlan.lanes)
    var keys = Set<String>()
    var waits = [Int: Duration]()
    var calls = 0
    var lateness = [(late: Duration, what: String)]()
    var faults = [String]()
  }

  private let clock: MockQueryClock
  private let guarded: Locked<Guarded>
  /// Woken by each turn of a replayer that ends, and each answer that begins to take time.
  let changes = AsyncSignal()

  init(_ clock: MockQueryClock, seed: UInt64) {
    self.clock = clock
    self.guarded = Locked(Guarded(random: SeededGenerator(seed: ~seed)))
  }

  /// How many requests the servers have received.
  var calls: Int { self.guarded.withLock { $0.calls } }

  /// When the requests end to which an answer is under way.
  var waits: [Duration] {
    let now = self.clock.elapsed
    return self.guarded.withLock { $0.waits.values.filter { $0 > now } }
  }

  /// What must never be.
  var faults: [String] { self.guarded.withLock { $0.faults } }

  /// How much later than possible writes were sent, in ascending order.
  var lateness: [(late: Duration, what: String)] {
    self.guarded.withLock { $0.lateness.sorted { $0.late < $1.late } }
  }

  /// What is not as it was entered.
  var differences: [String] {
    self.guarded.withLock { world in
      world.lanes.enumerated().compactMap { number, lane in
        let wanted = lane.entered.map(\.write).filter { !$0.isRefused }.map(\.number)
        if wanted == lane.applied, lane.ended == lane.entered.count { return nil }
        return "lane \(number) is \(lane.applied) (\(lane.ended) ended), not \(wanted)"
      }
    }
  }
}

// MARK: - Changing

extension FieldWorld {
  func enter(_ write: FieldWrite) {
    let now = self.clock.elapsed
    self.guarded.withLock { $0.lanes[write.lane].entered.append((write, now)) }
  }

  /// - Returns: Whether it had refused the credentials until now.
  func change(_ host: Int, to mood: FieldPlan.Mood) -> Bool {
    let now = self.clock.elapsed
    return self.guarded.withLock { world in
      let wasRefusing = world.moods[host] == .refusing
      world.moods[host] = mood
      world.noteWellness(now)
      return wasRefusing
    }
  }

  func change(to link: FieldPlan.Link) {
    let now = self.clock.elapsed
    self.guarded.withLock { world in
      if world.link != link { world.linkChanges += 1 }
      world.link = link
      world.noteWellness(now)
    }
  }
}

extension FieldWorld.Guarded {
  fileprivate mutating func noteWellness(_ now: Duration) {
    for host in self.moods.indices {
      let isWell = self.link == .up && self.moods[host] == .well
      if isWell {
        if self.wellSince[host] == nil { self.wellSince[host] = now }
      } else {
        self.noteUnsent(host, now)
        self.wellSince[host] = nil
      }
    }
  }

  /// Notes the writes that could have been sent and were not.
  private mutating func noteUnsent(_ host: Int, _ now: Duration) {
    for lane in self.lanes where lane.ended < lane.entered.count {
      let next = lane.entered[lane.ended]
      if next.write.host == host { self.noteLateness(of: next.write, now, "not sent until") }
    }
  }

  fileprivate mutating func noteLateness(of write: FieldWrite, _ now: Duration, _ what: String) {
    let lane = self.lanes[write.lane]
    guard let wellSince = self.wellSince[write.host] else { return }
    guard lane.ended < lane.entered.count, lane.entered[lane.ended].write == write else { return }
    let since = max(
      lane.entered[lane.ended].time, lane.lastEnd, wellSince, self.askedUntil[write.host])
    if now < since { return }
    let text = "\(write), possible at \(since) (host well since \(wellSince)), \(what) \(now)"
    self.lateness.append((now - since, text))
  }
}

// MARK: - Answering

extension FieldWorld {
  /// A request, from its beginning.
  fileprivate struct Call {
    var id: Int
    var end: Duration?
    var linkChanges: Int
  }

  /// Answers a request.
  func answer(_ write: FieldWrite, key: String) async throws {
    let begin = self.clock.elapsed
    let call = try self.guarded.withLock { try $0.begin(write, key, begin) }
    guard let end = call.end else { return }
    self.changes.wake()
    defer { self.guarded.withLock { _ = $0.waits.removeValue(forKey: call.id) } }
    try await self.clock.sleep(until: end)
    let now = self.clock.elapsed
    try self.guarded.withLock { world in
      if world.linkChanges != call.linkChanges {
        if Bool.random(using: &world.random) { world.apply(write, key) }
        throw POSIXError(.ECONNRESET)
      }
      world.apply(write, key)
      try world.end(write, now)
    }
  }
}

extension FieldWorld.Guarded {
  fileprivate mutating func begin(
    _ write: FieldWrite, _ key: String, _ now: Duration
  ) throws -> FieldWorld.Call {
    let host = write.host
    self.calls += 1
    var call = FieldWorld.Call(id: self.calls, end: nil, linkChanges: self.linkChanges)
    switch self.link {
    case .down: throw MutationUnreachedError(underlying: POSIXError(.ENETUNREACH))
    case .portal:
      self.faults.append("\(write) was sent to a portal at \(now)")
      throw FieldWorld.PortalAnswer()
    case .hiddenPortal: throw FieldWorld.PortalAnswer()
    case .up: break
    }
    self.checkOrder(of: write, now)
    switch self.moods[host] {
    case .well:
      self.noteLateness(of: write, now, "sent")
      self.apply(write, key)
      try self.end(write, now)
    case .slow:
      let seconds = Int.random(in: 1...FieldPlan.longestAnswer, using: &self.random)
      call.end = now + .seconds(seconds)
      self.waits[call.id] = call.end
    case .down: throw MutationUnreachedError(underlying: POSIXError(.ECONNREFUSED))
    case .limiting:
      let wait = Duration.seconds(Int.random(in: 10...600, using: &self.random))
      self.askedUntil[host] = max(self.askedUntil[host], now + wait)
      let code = Bool.random(using: &self.random) ? 429 : 503
      throw HTTPStatusError(statusCode: code, retryAfter: wait)
    case .failing: throw HTTPStatusError(statusCode: 500)
    case .losing:
      self.apply(write, key)
      throw POSIXError(.ECONNRESET)
    case .refusing: throw HTTPStatusError(statusCode: 401)
    }
    return call
  }

  private mutating func checkOrder(of write: FieldWrite, _ now: Duration) {
    let lane = self.lanes[write.lane]
    let next = lane.ended < lane.entered.count ? lane.entered[lane.ended].write : nil
    if next != write { self.faults.append("\(write) came at \(now) in place of \(next as Any)") }
  }

  /// Carries a write out, once.
  fileprivate mutating func apply(_ write: FieldWrite, _ key: String) {
    if write.isRefused || !self.keys.insert(key).inserted { return }
    self.lanes[write.lane].applied.append(write.number)
  }

  /// Notes that the sender learns what became of a write.
  fileprivate mutating func end(_ write: FieldWrite, _ now: Duration) throws {
    self.lanes[write.lane].ended += 1
    self.lanes[write.lane].lastEnd = now
    if write.isRefused { throw HTTPStatusError(statusCode: 422) }
  }
}
