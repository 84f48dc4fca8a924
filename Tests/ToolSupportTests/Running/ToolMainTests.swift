import Testing
import ToolSupport

struct ToolMainTests {
  private struct OwnError: Error {}

  private func run(
    _ words: [String], _ body: (Invocation) async throws -> ExitCode
  ) async -> ExitCode {
    await ToolMain.run(
      SampleTool.tool, arguments: words,
      explaining: { $0 is OwnError ? ToolError(.badData, "a test's own error") : nil }, body: body)
  }

  @Test func aCommandSaysHowItEnds() async {
    #expect(await self.run(["list"]) { _ in .workRemains } == .workRemains)
  }

  @Test func eachErrorHasItsCode() async {
    let errors: [(any Error, ExitCode)] = [
      (UsageError("wrong in a test"), .usage), (ToolError(.noStore, "none in a test"), .noStore),
      (OwnError(), .badData), (CancellationError(), .inputOutput), (Output.ClosedPipe(), .success),
      (ExitCode.interrupted, .interrupted),
    ]
    for (error, code) in errors {
      #expect(await self.run(["list"]) { _ in throw error } == code)
    }
  }

  @Test func aBadCommandLineRunsNothing() async {
    let code = await self.run(["list", "--nothing"]) { _ in
      Issue.record("it is not run")
      return .success
    }
    #expect(code == .usage)
  }
}
