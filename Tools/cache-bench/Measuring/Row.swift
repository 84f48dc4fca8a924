/// One row of the performance table.
struct Row: Sendable {
  /// What `--filter` looks at, and the key of the row in JSON. It never changes.
  let name: String
  /// The measured operation, in the words of the table.
  let title: String
  let goal: Goal
  /// What the floor does.
  let floor: String
  let unit: Unit
  /// Prepares what both rounds need, which is not measured.
  let measure: @Sendable () async throws -> Trial
}

/// The two rounds that a row repeats in turns.
///
/// Most take a few milliseconds, and there are many: on a machine that does other things, too, most
/// rounds are then left alone, and so is their median.
struct Trial: Sendable {
  /// Does the work once over and returns what one operation took, in the row's unit.
  typealias Round = @Sendable () async throws -> Double

  let figure: Round
  let floor: Round
  /// Fewer rounds than the scale's are enough if each takes long or gives the same result.
  var mostRounds = Int.max
  /// Releases what both rounds used.
  var end: @Sendable () async throws -> Void = {}
}

/// What the figures of a row count.
enum Unit: String, Codable {
  case nanoseconds = "ns"
  /// Nanoseconds of all threads together, on a processor.
  case processorTime = "cpu ns"
  case bytes = "B"
  case commits = "commits"
  case wakeUps = "wake-ups"
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

  func isMet(figure: Double, floor: Double) -> Bool {
    let ratio = figure / floor
    return switch self {
    case .timesFloor(let limit): ratio <= limit
    case .atMost(let limit): figure <= limit
    case .timesFloorAndMore(let limit, let more): figure <= floor * limit + more
    case .above(let limit): figure - floor <= limit
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
