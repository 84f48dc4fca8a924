import TestSupport

/// What happens in a round. The same seed makes the same plan.
struct RoundPlan: Sendable {
  /// Something that is done to the workers.
  enum Action: Hashable, Sendable {
    /// A worker is killed.
    case kill(worker: Int)
    /// A worker does not move for so long.
    case stop(worker: Int, Moment)
    /// The wall clock is so many seconds ahead from now on, and the machine has slept.
    case jump(wall: Double, slept: Double)
    /// The disk is full for so long.
    case fill(Moment)
  }

  /// How long it takes.
  var length: Moment
  /// What each worker does.
  var roles: [Role]
  /// How many pages the logs may have before a checkpoint.
  var checkpointFrames: Int
  /// Whether nearly nothing of the history of mutations is kept.
  var prunes: Bool
  /// What is done, and how long after the beginning, in this order.
  var actions: [(after: Moment, action: Action)]

  /// - Parameters:
  ///   - mode: What is done.
  ///   - workers: How many there are.
  ///   - length: How long it takes; nil: it is drawn.
  ///   - generator: What it is drawn from.
  init(mode: Mode, workers: Int, length: Moment?, using generator: inout SeededGenerator) {
    // Some are short: much can go wrong only while files are new.
    let isShort = Int.random(in: 1...3, using: &generator) == 1
    let drawn = Moment.seconds(.random(in: isShort ? 2...5 : 10...35, using: &generator))
    self.length = length.map { min($0, drawn) } ?? drawn
    // Someone writes, enqueues and sends in every round.
    var roles: [Role] = [.enqueue, .replay, .values]
    while roles.count < workers {
      roles.append(Role.drawn[Int.random(in: 0..<Role.drawn.count, using: &generator)])
    }
    self.roles = Array(roles.prefix(max(workers, 1))).shuffled(using: &generator)
    let frames = [0, 1, 5, 10, 50, 1_000]
    self.checkpointFrames = frames[Int.random(in: 0..<frames.count, using: &generator)]
    self.prunes = .random(using: &generator)
    var actions = [(after: Moment, action: Action)]()
    func add(_ pause: ClosedRange<Double>, _ action: (inout SeededGenerator) -> Action) {
      var moment = Moment.seconds(.random(in: pause, using: &generator))
      while moment < drawn {
        actions.append((moment, action(&generator)))
        moment += .seconds(.random(in: pause, using: &generator))
      }
    }
    let worker = 0...(self.roles.count - 1)
    if mode.kills { add(0.1...1.5) { .kill(worker: .random(in: worker, using: &$0)) } }
    if mode.stops {
      add(0.05...0.6) { .stop(worker: .random(in: worker, using: &$0), .seconds(Self.pause(&$0))) }
      add(2...8) { Self.jump(&$0) }
    }
    if mode == .mixed { add(3...10) { .fill(.seconds(.random(in: 0.2...4, using: &$0))) } }
    self.actions = actions.sorted { $0.after < $1.after }
  }

  /// How long a worker does not move, in seconds; one in twelve outlasts its lease.
  private static func pause(_ generator: inout SeededGenerator) -> Double {
    Int.random(in: 1...12, using: &generator) == 1
      ? .random(in: 4.2...6, using: &generator) : .random(in: 0.01...0.8, using: &generator)
  }

  private static func jump(_ generator: inout SeededGenerator) -> Action {
    let day = 86_400.0
    let wall = Double.random(in: -400 * day...400 * day, using: &generator)
    return .jump(wall: wall, slept: .random(in: 0...3_600, using: &generator))
  }
}
