import TestSupport
import Testing

@testable import Query

@Suite struct AsyncSignalTests {
  /// Or it would never run again, and nobody would know.
  @Test func aWaitThatAnotherOneDisplacesEnds() async {
    let signal = AsyncSignal()
    let ended = Recorder<Int>()
    for number in 0..<2 {
      Task {
        await signal.wait()
        ended.append(number)
      }
    }
    // Whichever was first.
    await ended.wait(forCount: 1)
    signal.wake()
    #expect(await ended.wait(forCount: 2).sorted() == [0, 1])
  }
}
