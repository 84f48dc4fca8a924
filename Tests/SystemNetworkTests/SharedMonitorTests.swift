import Query
import TestSupport
import Testing

@testable import SystemNetwork

@Suite struct SharedMonitorTests {
  @Test func oneMonitorRunsWhileThereIsAUser() {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    #expect(shared.running == nil)
    let first = shared.use()
    let second = shared.use()
    #expect(monitors.all.count == 1)
    #expect(first.monitor === second.monitor)
    #expect(shared.running === first.monitor)
    first.end.cancel()
    first.end.cancel()
    #expect(monitors.all[0].stopCount == 0)
    second.end.cancel()
    #expect(monitors.all[0].stopCount == 1)
    #expect(shared.running == nil)
  }

  @Test func itStartsAgainAfterTheLastUserHasLeft() {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    for _ in 0..<3 { shared.use().end.cancel() }
    #expect(monitors.all.map(\.stopCount) == [1, 1, 1])
    let (monitor, end) = shared.use()
    #expect(monitor === monitors.all.last)
    #expect(monitors.all.map(\.stopCount) == [1, 1, 1, 0])
    end.cancel()
  }

  @Test func aUseThatIsReleasedHasEnded() {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    do { _ = shared.use() }
    #expect(monitors.all.map(\.stopCount) == [1])
  }

  @Test func usersOnManyThreadsStartAndStopEachMonitorOnce() async {
    let monitors = FakeMonitors()
    let shared = monitors.shared()
    await runOnThreads(8) { _ in
      for _ in 0..<300 {
        let (monitor, end) = shared.use()
        #expect((monitor as? FakeMonitor)?.stopCount == 0)
        end.cancel()
      }
    }
    #expect(monitors.all.allSatisfy { $0.stopCount == 1 })
    #expect(shared.running == nil)
  }
}
