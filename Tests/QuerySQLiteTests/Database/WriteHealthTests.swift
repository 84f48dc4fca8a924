import Query
import Testing

@testable import QuerySQLite

@Suite struct WriteHealthTests {
  private static let full = StorageError(operation: "write", code: .full, message: "full")
  private static let busy = StorageError(operation: "write", code: .busy, message: "busy")

  private let health: WriteHealth
  private let reported: Locked<[String]>

  init() {
    let reported = Locked([String]())
    self.reported = reported
    self.health = WriteHealth(firstDelay: .milliseconds(100)) { event in
      let word =
        switch event {
        case .degraded(let error): error.message
        case .recovered: "recovered"
        default: "another event"
        }
      reported.withLock { $0.append(word) }
    }
  }

  private var events: [String] { self.reported.withLock { $0 } }

  @Test func theFirstFailureIsReportedAndTheLastOneIsKept() {
    self.health.didFail(Self.full)
    self.health.didFail(Self.busy)
    #expect(self.events == ["full"])
    #expect(self.health.error?.code == .busy)
    #expect(self.health.isRetryPending && self.health.due != nil)
  }

  @Test func aSuccessIsReportedAfterAFailureAlone() {
    self.health.didSucceed()
    #expect(self.events.isEmpty)
    self.health.didFail(Self.full)
    self.health.didSucceed()
    self.health.didSucceed()
    #expect(self.events == ["full", "recovered"])
    #expect(self.health.error == nil && self.health.due == nil)
  }

  @Test func aRetryAtOnceReportsNothing() {
    self.health.retryAtOnce()
    #expect(self.health.isRetryPending && self.health.error == nil)
    self.health.didSucceed()
    #expect(self.events.isEmpty)
    #expect(!self.health.isRetryPending)
  }
}
