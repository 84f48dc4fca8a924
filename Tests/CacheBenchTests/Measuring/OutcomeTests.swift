import Query
import Testing

@testable import cache_bench

/// How a row is measured.
@Suite struct OutcomeTests {
  private static let scale = Scale(rounds: 40, warmUps: 2, entries: 0)

  private func outcome(
    lean: Lean?, figure: Double = 2, leanRound: Trial.Round?
  ) async -> Outcome {
    let row = SampleRow.row(lean: lean, unit: .commits) {
      Trial(
        counting: { Gauge().reading(of: figure) }, floor: { Gauge().reading(of: 1) },
        lean: leanRound)
    }
    return await Outcome(measuring: row, Self.scale)
  }

  @Test func theLeanProgramIsMeasuredAndDecidesNothing() async {
    let outcome = await self.outcome(
      lean: .program("lean"), leanRound: { Gauge().reading(of: 0.001) })
    #expect(outcome.failure == nil)
    #expect(outcome.figures.values.count == 40 && outcome.floors.values.count == 40)
    #expect(outcome.leans.values.count == 21)
    #expect(outcome.ratio == 2 && outcome.leanRatio == 2_000)
    #expect(outcome.verdict == .met)
  }

  @Test func aGoalIsMissedByTheFloorAlone() async {
    let outcome = await self.outcome(
      lean: .program("lean"), figure: 3, leanRound: { Gauge().reading(of: 1_000) })
    #expect(outcome.verdict == .missed && outcome.failure == nil)
  }

  @Test func aLeanProgramThatIsPromisedAndMissingIsAFailure() async {
    #expect(await self.outcome(lean: .program("lean"), leanRound: nil).failure != nil)
    let unasked = await self.outcome(
      lean: .absent("none"), leanRound: { Gauge().reading(of: 1) })
    #expect(unasked.failure != nil)
  }

  @Test func theRoundsTakeTurns() async {
    let order = Locked([String]())
    @Sendable func round(_ name: String) -> Trial.Round {
      {
        order.withLock { $0.append(name) }
        return Gauge().reading()
      }
    }
    let row = SampleRow.row {
      Trial(
        counting: round("figure"), floor: round("floor"), lean: round("lean"), mostRounds: 2,
        end: { order.withLock { $0.append("end") } })
    }
    _ = await Outcome(measuring: row, Self.scale)
    let turn = ["figure", "floor", "lean"]
    #expect(order.withLock { $0 } == turn + turn + turn + ["end"])
  }

  /// Of a round that tells its time alone, an operation has the share of what was used that it has of the
  /// time; what is no time has none.
  @Test func aRoundOfTheEngineSharesWhatItUsed() async {
    func outcome(_ unit: Unit) async -> Outcome {
      await Outcome(
        measuring: SampleRow.row(lean: nil, unit: unit) {
          Trial(figure: { 1 }, floor: { 1 }, mostRounds: 3)
        }, Self.scale)
    }
    #expect(await outcome(.nanoseconds).figures.expenses.count == 3)
    #expect(await outcome(.bytes).figures.expenses.isEmpty)
  }

  /// A machine on which T takes twice as long takes twice as long for the rest.
  @Test(
    arguments: [
      (1_000.0, 800.0, Verdict.met), (1_001, 800, .missed), (1_900, 1_600, .metForSpeed),
      (2_001, 1_600, .missed), (1_001, 400, .missed),
    ])
  func aGoalInTimeIsThatOfAMachine(figure: Double, task: Double, verdict: Verdict) {
    for goal in [Goal.atMost(1_000), .above(900), .timesFloorAndMore(0.5, 950)] {
      let row = SampleRow.row(lean: nil, goal: goal)
      let outcome = Outcome(
        row: row, figures: .init(values: [figure]), floors: .init(values: [100]),
        leans: .init(), speed: MachineSpeed(task: task))
      #expect(outcome.verdict == verdict, "\(goal)")
    }
  }

  @Test func aNumberOfFloorsAndACountAreTheSameOnEachMachine() async {
    let slow = MachineSpeed(task: 8_000)
    for goal in [Goal.timesFloor(2), .near(2)] {
      let outcome = Outcome(
        row: SampleRow.row(goal: goal), figures: .init(values: [3]), floors: .init(values: [1]),
        leans: .init(), speed: slow)
      #expect(outcome.verdict == .missed)
    }
    func hasSpeed(_ goal: Goal, _ unit: Unit) async -> Bool {
      let row = SampleRow.row(lean: nil, unit: unit, goal: goal) {
        Trial(figure: { 1 }, floor: { 1 }, mostRounds: 1)
      }
      return await Outcome(measuring: row, Self.scale).speed != nil
    }
    #expect(await hasSpeed(.atMost(1), .nanoseconds))
    #expect(await !hasSpeed(.timesFloor(1), .nanoseconds))
    #expect(await !hasSpeed(.atMost(1), .commits))
  }
}
