import TestSupport

/// A write of a simulated day.
struct FieldWrite: Codable, Hashable, Sendable {
  /// Its place in the order of entering.
  var number: Int
  var lane: Int
  /// Whether its server refuses it for good.
  var isRefused: Bool

  /// Each lane is one server's.
  var host: Int { self.lane % FieldPlan.hosts }
}

/// What happens on a simulated day, all of it by a seed.
struct FieldPlan: Sendable {
  enum Link: Hashable, Sendable {
    case up, down
    /// A portal answers in place of each server, and the system knows it.
    case portal
    /// The same, and the system takes it for the network.
    case hiddenPortal
  }

  enum Mood: Hashable, Sendable {
    case well, slow
    /// The connection is refused.
    case down
    /// It carries nothing out, and says how long to wait.
    case limiting
    /// It answers 500.
    case failing
    /// It carries the write out, and its answer is lost.
    case losing
    /// It does not know the sender.
    case refusing
  }

  enum Event: Sendable {
    case link(Link)
    case mood(host: Int, Mood)
    case enter([FieldWrite])
    case restart
  }

  static let hosts = 3
  static let lanes = 300
  static let longestAnswer = 60

  let events: [(time: Duration, event: Event)]
  let writes: Int

  init(seed: UInt64, writes: Int, days: Int) {
    var random = SeededGenerator(seed: seed)
    let end = days * 86_400
    var events = [(time: Duration, event: Event)]()
    var time = 0
    while time < end {
      let link = [Link.up, .up, .up, .down, .down, .down, .portal, .hiddenPortal]
        .randomElement(using: &random)!
      events.append((.seconds(time), .link(link)))
      let minutes = link == .up || link == .down ? 5...150 : 1...20
      time += 60 * Int.random(in: minutes, using: &random)
    }
    for host in 0..<Self.hosts {
      var (time, isWell) = (0, true)
      while time < end {
        let mood: Mood =
          isWell
          ? .well
          : [.slow, .down, .limiting, .failing, .losing, .refusing].randomElement(using: &random)!
        events.append((.seconds(time), .mood(host: host, mood)))
        time += 60 * Int.random(in: isWell ? 10...150 : 2...30, using: &random)
        isWell.toggle()
      }
      events.append((.seconds(end), .mood(host: host, .well)))
    }
    events.append((.seconds(end), .link(.up)))
    for _ in 0..<(4 * days) {
      events.append((.seconds(Int.random(in: 0..<end, using: &random)), .restart))
    }
    events += Self.entering(writes, before: end, &random)
    self.events = events.enumerated()
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    self.writes = writes
  }

  /// A person enters about ten at a time.
  private static func entering(
    _ count: Int, before end: Int, _ random: inout SeededGenerator
  ) -> [(time: Duration, event: Event)] {
    let times = (0..<(count / 10)).map { _ in Int.random(in: 0..<end, using: &random) }.sorted()
    return times.enumerated().map { index, time in
      let writes = (0..<10).map { offset in
        FieldWrite(
          number: index * 10 + offset, lane: Int.random(in: 0..<Self.lanes, using: &random),
          isRefused: Int.random(in: 0..<100, using: &random) == 0)
      }
      return (.seconds(time), .enter(writes))
    }
  }
}
