import TestSupport
import Testing

@testable import torture

@Suite struct BenchOptionsTests {
  @Test func theDefaultsAreAMinuteOfAllWithEightProcesses() throws {
    let options = try BenchOptions([])
    #expect(options.minutes == 1 && options.mode == .mixed && options.processes == 8)
    #expect(options.folder == nil && !options.isKeeping)
  }

  @Test func allOptionsAreTaken() throws {
    let options = try BenchOptions([
      "--minutes", "0.5", "--seed", "7", "--mode", "kill", "--folder", "/tmp/x", "--processes",
      "3", "--keep",
    ])
    #expect(options.minutes == 0.5 && options.seed == 7 && options.mode == .kill)
    #expect(options.folder == "/tmp/x" && options.processes == 3 && options.isKeeping)
  }

  @Test(arguments: [
    ["--fast"], ["--minutes"], ["--minutes", "0"], ["--minutes", "x"], ["--seed", "-1"],
    ["--mode", "wild"], ["--processes", "2"], ["--folder", ""],
  ])
  func whatCannotBeIsRefused(arguments: [String]) {
    #expect(throws: BenchOptions.UsageError.self) { try BenchOptions(arguments) }
  }

  @Test func theSameSeedMakesTheSamePlan() {
    func plan(_ seed: UInt64) -> RoundPlan {
      var generator = SeededGenerator(seed: seed)
      return RoundPlan(mode: .mixed, workers: 8, length: nil, using: &generator)
    }
    let (first, second) = (plan(5), plan(5))
    #expect(first.roles == second.roles && first.length == second.length)
    #expect(first.actions.map(\.after) == second.actions.map(\.after))
    #expect(first.actions.map(\.action) == second.actions.map(\.action))
    #expect(!first.actions.isEmpty && first.actions.map(\.after) != plan(6).actions.map(\.after))
  }

  @Test func someoneWritesEnqueuesAndSendsInEachRound() {
    for seed in UInt64(1)...50 {
      var generator = SeededGenerator(seed: seed)
      let plan = RoundPlan(mode: .calm, workers: 3, length: nil, using: &generator)
      #expect(Set(plan.roles) == [.values, .enqueue, .replay])
      #expect(plan.actions.isEmpty)
    }
  }
}
