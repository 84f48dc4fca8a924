import Query
import Testing

@testable import QuerySQLite

@Suite struct OutboxClockSynchronisedTests {
  @Test func theKernelTellsTheTime() {
    let time = OutboxClock.systemWithSync.now()
    #expect(time.boottime + 1_000_000 >= time.monotonic)
    #expect(time.bootID.count == 36)
  }
}
