import Testing

@testable import Query

@Suite struct DurationMicrosecondsTests {
  @Test func durationsAreRoundedUpToMicroseconds() {
    #expect(Duration.nanoseconds(1).microseconds == 1)
    #expect(Duration.milliseconds(5).microseconds == 5_000)
    #expect(Duration.seconds(Int64.max).microseconds == .max)
  }
}
