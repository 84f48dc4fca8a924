import Foundation
import TestSupport
import Testing

@testable import QueryReplay

@Suite struct ReplayClockTests {
  @Test func sleepHangsOnATimerThatCountsSuspension() async throws {
    let clock = ReplayClock.system
    let time = clock.now() + .seconds(7_777)
    let sleeper = Task { try await clock.sleep(time) }
    // CLOCK_BOOTTIME is 7.
    while !Self.timers().contains("7") { await Task.yield() }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }

  @Test func timeThatHasComeIsNotWaitedFor() async throws {
    let clock = ReplayClock.system
    try await clock.sleep(clock.now())
    try await clock.sleep(clock.now() - .seconds(1))
  }

  /// The clocks of the timers of this process that are set.
  private static func timers() -> Set<String> {
    let folder = "/proc/self/fdinfo"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    var clocks = Set<String>()
    for name in names {
      guard let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      else { continue }
      guard !text.contains("it_value: (0, 0)") else { continue }
      for line in text.split(separator: "\n") where line.hasPrefix("clockid:") {
        clocks.insert(line.dropFirst(8).trimmingCharacters(in: .whitespaces))
      }
    }
    return clocks
  }
}
