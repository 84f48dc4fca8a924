import Foundation
import Testing

@testable import ToolSupport

struct EndSignalsTests {
  /// The tools print that they are ready right afterwards, and a script may then send a signal.
  @Test func aSignalThatComesAtOnceEndsNoProcessAndIsTold() async {
    await #expect(processExitsWith: .success) {
      for number in [SIGINT, SIGTERM] {
        let signals = EndSignals()
        kill(getpid(), number)
        var told = signals.stream.makeAsyncIterator()
        #expect(await told.next() == number)
      }
    }
  }
}
