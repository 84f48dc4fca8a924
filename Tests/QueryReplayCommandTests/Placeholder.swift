import Testing
import ToolSupport

struct QueryReplayCommandTestsPlaceholder {
  @Test func theUsageErrorIs64() { #expect(ExitCode.usage.rawValue == 64) }
}
