import Foundation
import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryLoggerTests {
  private let clock = TestClock()
  private let logger = RecordingLogger()

  private func query(taking seconds: TimeInterval) -> ProbeQuery {
    ProbeQuery(onFetch: { [clock] context, _ in
      clock.advance(by: seconds)
      if context.queryTaskConfiguration.name == "failing" { throw TestError() }
      return 1
    })
  }

  // MARK: - Durations

  @Test(arguments: [(0, "0.0 secs"), (1, "1.0 sec"), (2.5, "2.5 secs")] as [(Double, String)])
  func aFetchsDurationIsLogged(seconds: Double, text: String) async throws {
    let query = self.query(taking: seconds).logDuration(with: self.logger).clock(self.clock)
    try await QueryStore.detached(query: query, initialValue: nil).fetch()
    #expect(self.logger.messages.elements == ["info: ProbeQuery took \(text) to run."])
  }

  @Test func aFailureIsLoggedToo() async {
    let query = self.query(taking: 3).logDuration(with: self.logger, at: .debug).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    let configuration = QueryTaskConfiguration(name: "failing")
    await #expect(throws: TestError()) { try await store.fetch(using: configuration) }
    #expect(self.logger.messages.elements == ["debug: ProbeQuery took 3.0 secs to run."])
  }

  @Test func theContextsLoggerIsTheDefault() async throws {
    let query = self.query(taking: 2).logDuration(at: .critical).clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.context.queryLogger = self.logger
    try await store.fetch()
    #expect(self.logger.messages.elements == ["critical: ProbeQuery took 2.0 secs to run."])
  }

  @Test func aLoggerOfItsOwnHidesTheContexts() async throws {
    let other = RecordingLogger()
    let query = self.query(taking: 2).logDuration(with: self.logger)
    let store = QueryStore.detached(query: query, initialValue: nil)
    store.context.queryLogger = other
    try await store.fetch()
    #expect(self.logger.messages.count == 1)
    #expect(other.messages.count == 0)
  }

  @Test func insideARetryEachAttemptIsLoggedAndOutsideTheWhole() async {
    let query = ProbeQuery(onFetch: { [clock] _, _ in
      clock.advance(by: 2)
      throw TestError()
    })
    .logDuration(with: self.logger, at: .trace)
    .retry(limit: 2).delayer(.noDelay)
    .logDuration(with: self.logger, at: .notice)
    .clock(self.clock)
    let store = QueryStore.detached(query: query, initialValue: nil)
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(
      self.logger.messages.elements
        == Array(repeating: "trace: ProbeQuery took 2.0 secs to run.", count: 3)
        + ["notice: ProbeQuery took 6.0 secs to run."]
    )
  }

  // MARK: - Loggers

  @Test func levels() {
    #expect(
      QueryLogLevel.allCases.map(\.rawValue) == [
        "trace", "debug", "info", "notice", "warning", "error", "critical",
      ]
    )
  }

  @Test func aMessageIsMadeOnlyWhereItIsWanted() {
    let made = Counter()
    let logger: any QueryLogger = WarningsOnly()
    logger.log(level: .debug, message: "\(made.increment())")
    #expect(made.value == 0)
    logger.log(level: .warning, message: "\(made.increment())")
    #expect(made.value == 1)
  }

  @Test func theDefaultLoggerWritesOneLineToStandardError() async {
    let result = await #expect(
      processExitsWith: .success,
      observing: [\.standardErrorContent]
    ) {
      QueryContext().queryLogger.log(level: .notice, message: "text of the test")
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.split(separator: "\n").contains("[notice] text of the test"))
  }

  @Test func aClosedStandardErrorIsSurvived() async {
    await #expect(processExitsWith: .success) {
      close(2)
      QueryContext().queryLogger.log(level: .notice, message: "nowhere to go")
      QueryWarning("nowhere to go").report()
    }
  }
}

private struct WarningsOnly: QueryLogger {
  func log(level: QueryLogLevel, message: @autoclosure () -> String) {
    if level == .warning { _ = message() }
  }
}
