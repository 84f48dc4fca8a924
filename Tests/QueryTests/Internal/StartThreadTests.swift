import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct StartThreadTests {
  @Test func itRunsOnAThreadOfItsOwnThatHasAName() async {
    let names = Recorder<String>()
    startThread("a name that is too long") {
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      names.append(name ?? "none")
    }
    #expect(await names.wait(forCount: 1) == ["a name that is \n"])
  }
}
