import Testing

@testable import Query

@Suite struct TestDetectionTests {
  @Test func aProcessThatRunsTestsIsRecognised() { #expect(TestDetection.isTesting) }
}
