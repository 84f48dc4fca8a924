/// One row of the performance table.
struct Row: Sendable {
  /// What `--filter` looks at, and the key of the row in JSON. It never changes.
  let name: String
  /// The measured operation, in the words of the table.
  let title: String
  let goal: Goal
  /// What the floor does.
  let floor: String
  /// What a lean C program does; nil if nothing of the row is on disk.
  var lean: Lean?
  let unit: Unit
  /// Prepares what the rounds need, which is not measured.
  let measure: @Sendable () async throws -> Trial

  /// Whether its goal has an amount of time.
  var hasTimeGoal: Bool { self.unit.isTime && self.goal.hasAmount }
}

/// The least that a C program must do to keep the same promise: with the leanest tables, not with those of the
/// library. It is shown beside the floor, and no goal is measured by it.
enum Lean: Sendable {
  /// What it does.
  case program(String)
  /// Why there is none.
  case absent(String)

  var program: String? { if case .program(let text) = self { text } else { nil } }
  var reason: String? { if case .absent(let reason) = self { reason } else { nil } }
}

/// The rounds that a row repeats in turns.
///
/// Most take a few milliseconds, and there are many: on a machine that does other things, too, most
/// rounds are then left alone, and so is their median.
struct Trial: Sendable {
  /// Does the work once over, and returns what one operation took and used.
  typealias Round = @Sendable () async throws -> Reading

  let figure: Round
  let floor: Round
  /// nil if there is no lean program.
  let lean: Round?
  /// Whether the rounds count what one operation used, whatever the row's unit.
  let isCounting: Bool
  /// Fewer rounds than the scale's are enough if each takes long or gives the same result.
  let mostRounds: Int
  /// Releases what the rounds used.
  let end: @Sendable () async throws -> Void

  /// Rounds that count what they use, with a ``Gauge``.
  init(
    counting figure: @escaping Round, floor: @escaping Round, lean: Round? = nil,
    mostRounds: Int = .max, end: @escaping @Sendable () async throws -> Void = {}
  ) {
    (self.figure, self.floor, self.lean) = (figure, floor, lean)
    (self.isCounting, self.mostRounds, self.end) = (true, mostRounds, end)
  }

  /// Rounds that return what one operation took alone: its share of the time is its share of what the
  /// round used.
  init(
    figure: @escaping @Sendable () async throws -> Double,
    floor: @escaping @Sendable () async throws -> Double,
    mostRounds: Int = .max, end: @escaping @Sendable () async throws -> Void = {}
  ) {
    (self.figure, self.floor, self.lean) = (Self.share(of: figure), Self.share(of: floor), nil)
    (self.isCounting, self.mostRounds, self.end) = (false, mostRounds, end)
  }

  private static func share(of round: @escaping @Sendable () async throws -> Double) -> Round {
    {
      let gauge = Gauge()
      let figure = try await round()
      let whole = gauge.reading()
      return Reading(figure: figure, expense: whole.expense * (figure / whole.figure))
    }
  }
}

/// What the figures of a row count.
enum Unit: String, Codable {
  case nanoseconds = "ns"
  /// Nanoseconds of all threads together, on a processor.
  case processorTime = "cpu ns"
  case bytes = "B"
  case commits = "commits"
  case wakeUps = "wake-ups"

  var isTime: Bool { self == .nanoseconds || self == .processorTime }
}

/// The goal of a row.
enum Goal: Sendable {
  /// At most so many times the floor.
  case timesFloor(Double)
  /// At most so much, in the row's unit, whatever the floor.
  case atMost(Double)
  /// At most so many times the floor, and beside that so much more, in the row's unit.
  case timesFloorAndMore(Double, Double)
  /// At most so much more than the floor, in the row's unit.
  case above(Double)
  /// At most so many times the floor, and no less than the floor divided by as much.
  case near(Double)

  /// Whether a part of it is an amount, and not a number of floors.
  var hasAmount: Bool {
    switch self {
    case .timesFloor, .near: false
    case .atMost, .timesFloorAndMore, .above: true
    }
  }

  /// - Parameter factor: How many times the amount may be as much.
  func isMet(figure: Double, floor: Double, factor: Double = 1) -> Bool {
    let ratio = figure / floor
    return switch self {
    case .timesFloor(let limit): ratio <= limit
    case .atMost(let limit): figure <= limit * factor
    case .timesFloorAndMore(let limit, let more): figure <= floor * limit + more * factor
    case .above(let limit): figure - floor <= limit * factor
    case .near(let limit): max(ratio, 1 / ratio) <= limit
    }
  }
}

/// How much is measured.
struct Scale: Sendable {
  let rounds: Int
  let warmUps: Int
  /// How many entries are on disk, if a storage is measured.
  let entries: Int

  static let full = Scale(rounds: 101, warmUps: 5, entries: 100_000)
  static let quick = Scale(rounds: 21, warmUps: 2, entries: 10_000)
}
