import Testing

@testable import cache_bench

/// What the command line of `cache-bench` means.
@Suite struct CommandTests {
  @Test func withoutArgumentsAllIsMeasured() throws {
    guard case .measure(let options) = try Command(arguments: []) else {
      Issue.record("nothing is measured")
      return
    }
    #expect(options.filter == nil)
    #expect(options.jsonFile == nil)
    #expect(options.scale.rounds == Scale.full.rounds)
  }

  @Test(arguments: [
    ["--quick", "--filter", "log", "--json", "a.json"],
    ["--json=a.json", "--filter=log", "--quick"],
  ])
  func optionsComeInAnyOrderAndWithAnEqualsSign(_ arguments: [String]) throws {
    guard case .measure(let options) = try Command(arguments: arguments) else {
      Issue.record("nothing is measured")
      return
    }
    #expect(options.filter == "log")
    #expect(options.jsonFile == "a.json")
    #expect(options.scale.rounds == Scale.quick.rounds)
  }

  @Test func namesAreListedThatContainAText() throws {
    guard case .list("log") = try Command(arguments: ["--list", "--filter", "log"]) else {
      Issue.record("nothing is listed")
      return
    }
  }

  @Test(arguments: [
    (["--quik"], "unknown option '--quik'; did you mean --quick?"),
    (["--quick=1"], "--quick takes no value"),
    (["--json"], "--json needs a value; see --help"),
    (["fetch"], "unknown argument 'fetch'; see --help"),
  ])
  func whatCannotBeUnderstoodIsNamed(_ arguments: [String], _ message: String) {
    let error = #expect(throws: UsageError.self) { try Command(arguments: arguments) }
    #expect(error?.description == message)
  }
}
