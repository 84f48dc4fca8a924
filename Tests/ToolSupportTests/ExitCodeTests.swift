import Testing
import ToolSupport

struct ExitCodeTests {
  @Test func theUsageErrorIs64() { #expect(ExitCode.usage.rawValue == 64) }
}
