import Query
import Testing

@testable import QuerySQLite

@Suite struct WriteHealthTests {
  private static let full = StorageError(operation: "write", code: .full, message: "full")
  private static let busy = StorageError(operation: "write", code: .busy, message: "busy")

  private let health = WriteHealth(firstDelay: .milliseconds(100))

  @Test func theFirstFailureIsReportedAndTheLastOneIsKept() {
    guard case .degraded(let error)? = self.health.didFail(Self.full) else {
      Issue.record("a failure was not reported")
      return
    }
    #expect(error.code == .full)
    #expect(self.health.didFail(Self.busy) == nil)
    #expect(self.health.error?.code == .busy)
    #expect(self.health.isRetryPending && self.health.due != nil)
  }

  @Test func aSuccessIsReportedAfterAFailureAlone() {
    #expect(self.health.didSucceed() == nil)
    _ = self.health.didFail(Self.full)
    guard case .recovered? = self.health.didSucceed() else {
      Issue.record("a recovery was not reported")
      return
    }
    #expect(self.health.error == nil && self.health.due == nil)
    #expect(self.health.didSucceed() == nil)
  }

  @Test func aRetryAtOnceReportsNothing() {
    self.health.retryAtOnce()
    #expect(self.health.isRetryPending && self.health.error == nil)
    #expect(self.health.didSucceed() == nil)
    #expect(!self.health.isRetryPending)
  }
}
