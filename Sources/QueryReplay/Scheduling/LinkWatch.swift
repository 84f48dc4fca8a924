import FoundationEssentials
import Query

/// The attempts of a run, and which of them hang because the network has changed since they began.
///
/// If a link goes down, an answer that was on its way never arrives, and the wait for it ends only with a
/// time-out of a minute or more, during which its lane waits, too. So once the network is back, an attempt
/// from before has some seconds to end or to send more; if it does, it is left alone. A probe that has sent
/// nothing is given up at once. Times are those of a ``ReplayClock``.
struct LinkWatch: Sendable {
  /// The attempts of one call.
  private struct Call {
    var leases: [MutationLease]
    var running: Int
    let isProbe: Bool
    /// How often the network had come up when they were leased.
    let link: Int
    /// How often they had sent something at the last check.
    var steps = 0
    /// When they are checked again; nil: they began on the current network.
    var deadline: Duration?
    var isGivenUp = false

    var stepsNow: Int { self.leases.reduce(0) { $0 + $1.steps } }
  }

  private var calls = [UUID: Call]()
  /// The call that a follower of a batch goes with.
  private var leaders = [UUID: UUID]()
  /// How often in a row each mutation was given up.
  private var givenUp = [UUID: Int]()

  /// How long an attempt may make no progress once the network has changed.
  private static let patience = Duration.seconds(5)
  /// How many given-up mutations are remembered.
  private static let maximumGivenUp = 1_024

  /// When to check again; nil if all attempts began on the current network.
  var next: Duration? { self.calls.values.compactMap { $0.isGivenUp ? nil : $0.deadline }.min() }

  /// Notes the attempts of one call.
  ///
  /// - Parameters:
  ///   - leases: Theirs, 1 or more.
  ///   - isProbe: Whether it finds out whether there is a network.
  ///   - link: How often the network had come up before they were leased.
  mutating func begin(_ leases: [MutationLease], isProbe: Bool, link: Int) {
    guard let leader = leases.first?.entry.id else { return }
    self.calls[leader] = Call(
      leases: leases, running: leases.count, isProbe: isProbe, link: link)
    for lease in leases.dropFirst() { self.leaders[lease.entry.id] = leader }
  }

  /// Notes the end of an attempt.
  mutating func end(_ id: UUID) {
    let leader = self.leaders.removeValue(forKey: id) ?? id
    guard var call = self.calls[leader] else { return }
    if call.leases.first(where: { $0.entry.id == id })?.isGivenUp == false {
      self.givenUp[id] = nil
    }
    call.running -= 1
    self.calls[leader] = call.running > 0 ? call : nil
  }

  /// Takes the leases of the attempts to give up.
  ///
  /// - Parameters:
  ///   - link: How often the network has come up.
  ///   - now: The time.
  mutating func takeHanging(link: Int, at now: Duration) -> [MutationLease] {
    var hanging = [MutationLease]()
    for (leader, var call) in self.calls where call.link != link && !call.isGivenUp {
      let steps = call.stepsNow
      let patience = self.patience(for: leader, isNew: call.isProbe && steps == 0)
      if call.deadline == nil || steps != call.steps {
        (call.steps, call.deadline) = (steps, now + patience)
      }
      if let deadline = call.deadline, deadline <= now {
        hanging += call.leases
        call.isGivenUp = true
        self.note(leader)
      }
      self.calls[leader] = call
    }
    return hanging
  }

  /// Longer after each time that the mutation was given up: otherwise a slow server's answer might never
  /// arrive over a link that comes and goes.
  private func patience(for leader: UUID, isNew: Bool) -> Duration {
    guard let count = self.givenUp[leader] else { return isNew ? .zero : Self.patience }
    return Self.patience * (1 << min(count, 6))
  }

  private mutating func note(_ leader: UUID) {
    if self.givenUp.count >= Self.maximumGivenUp { self.givenUp = [:] }
    self.givenUp[leader, default: 0] += 1
  }
}
