import Query
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct AsyncSignalTimeTests {
  private let clock = ManualClock()
  private let signal = AsyncSignal()

  @Test func signalsBeforeTheWaitAreOne() async {
    self.signal.wake()
    self.signal.wake()
    await self.signal.wait(until: .seconds(1), by: self.clock.replayClock)
    let second = Task { await self.signal.wait(until: .seconds(2), by: self.clock.replayClock) }
    await self.clock.sleeper(until: .seconds(2))
    #expect(self.clock.now == .zero)
    self.clock.advance(by: .seconds(2))
    await second.value
  }

  @Test func signalEndsTheWait() async {
    let wait = Task { await self.signal.wait(until: .seconds(1), by: self.clock.replayClock) }
    await self.clock.sleeper(until: .seconds(1))
    self.signal.wake()
    await wait.value
    #expect(self.clock.now == .zero)
  }

  @Test func cancelledTaskDoesNotWait() async {
    let wait = Task { await self.signal.wait(until: .seconds(1), by: self.clock.replayClock) }
    wait.cancel()
    await wait.value
    #expect(self.clock.now == .zero)
  }
}
