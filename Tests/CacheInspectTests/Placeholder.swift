import Testing
import ToolSupport

struct CacheInspectTestsPlaceholder {
  @Test func theUsageErrorIs64() { #expect(ExitCode.usage.rawValue == 64) }
}
