import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import Query

@Suite struct FailureClassifierTests {
  @Test(arguments: [-1_004, -1_003, -1_006, -1_009] + Array(-1_206 ... -1_200))
  func whatFailsBeforeSendingIsConnectivityAndCertainlyNotApplied(_ code: Int) {
    let verdict = FailureVerdict(of: NSError(domain: NSURLErrorDomain, code: code))
    #expect(verdict == FailureVerdict(failure: .connectivity, maybeApplied: false))
  }

  @Test(arguments: [-1_011, -1, -1_002, -1_005, -1_001, -1_017, -3_000])
  func anyOtherURLErrorMayBeALostAnswer(_ code: Int) {
    let verdict = FailureVerdict(of: NSError(domain: NSURLErrorDomain, code: code))
    #expect(verdict == FailureVerdict(failure: .connectivity, maybeApplied: true))
  }

  @Test func anErrorOfURLSessionIsKnownByItsDomainAndCode() {
    #expect(
      FailureVerdict(of: URLError(.cannotConnectToHost))
        == FailureVerdict(failure: .connectivity, maybeApplied: false))
    #expect(FailureVerdict(of: URLError(.networkConnectionLost)).maybeApplied)
  }

  @Test func aCancelledRequestIsACancellation() {
    let cancelled = FailureVerdict(failure: .cancelled, maybeApplied: true)
    #expect(FailureVerdict(of: URLError(.cancelled)) == cancelled)
    #expect(FailureVerdict(of: CancellationError()) == cancelled)
  }

  @Test func aBadURLNeverSucceeds() {
    let verdict = FailureVerdict(of: URLError(.badURL))
    #expect(verdict.failure == .permanent(reason: "the URL is not valid"))
    #expect(!verdict.maybeApplied)
  }

  @Test(arguments: [408, 423, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 530, 598])
  func theseStatusesPassAndKeepTheServersWait(_ status: Int) {
    let error = HTTPStatusError(statusCode: status, retryAfter: .seconds(7))
    let verdict = FailureVerdict(of: error)
    #expect(verdict.failure == .transient(retryAfter: .seconds(7)))
    #expect(verdict.maybeApplied == (status >= 500))
    #expect(verdict.limit == nil)
  }

  @Test func credentialsConflictsAndRefusalsAreToldApart() {
    func failure(_ status: Int) -> MutationFailure {
      FailureVerdict(of: HTTPStatusError(statusCode: status)).failure
    }
    #expect(failure(401) == .authentication)
    #expect(failure(409) == .conflict && failure(412) == .conflict)
    for status in [302, 400, 403, 404, 410, 422, 501, 505] {
      let expected = MutationFailure.permanent(reason: "status \(status)")
      #expect(failure(status) == expected)
    }
  }

  @Test func aConflictThatAsksForAPauseIsAnAttemptUnderWay() {
    let error = HTTPStatusError(statusCode: 409, retryAfter: .seconds(1))
    let verdict = FailureVerdict(of: error)
    #expect(verdict.failure == .transient(retryAfter: .seconds(1)))
    #expect(!verdict.maybeApplied)
    let changed = FailureVerdict(of: HTTPStatusError(statusCode: 412, retryAfter: .seconds(1)))
    #expect(changed.failure == .conflict)
  }

  @Test(arguments: [407, 511])
  func whatAProxyOrAPortalAnswersIsNotTheServers(_ status: Int) {
    let verdict = FailureVerdict(of: HTTPStatusError(statusCode: status))
    #expect(verdict == FailureVerdict(failure: .connectivity, maybeApplied: false))
  }

  @Test func aStatusBelow500SaysThatNothingWasDone() {
    for status in [302, 400, 401, 409, 429] {
      #expect(!FailureVerdict(of: HTTPStatusError(statusCode: status)).maybeApplied)
    }
    #expect(FailureVerdict(of: HTTPStatusError(statusCode: 501)).maybeApplied)
  }

  @Test(arguments: [
    POSIXErrorCode.ECONNREFUSED, .ENETUNREACH, .EHOSTUNREACH, .ENETDOWN, .EHOSTDOWN, .ENOTCONN,
  ])
  func aConnectionThatCameNotAboutIsConnectivity(_ code: POSIXErrorCode) {
    let expected = FailureVerdict(failure: .connectivity, maybeApplied: false)
    #expect(FailureVerdict(of: POSIXError(code)) == expected)
    let error = NSError(domain: NSPOSIXErrorDomain, code: Int(code.rawValue))
    #expect(FailureVerdict(of: error) == expected)
    #expect(FailureVerdict.code(of: error) == Int(code.rawValue))
  }

  @Test(arguments: [POSIXErrorCode.ECONNRESET, .EPIPE, .ETIMEDOUT])
  func aConnectionThatBrokeMayHaveLostTheAnswer(_ code: POSIXErrorCode) {
    let expected = FailureVerdict(failure: .connectivity, maybeApplied: true)
    #expect(FailureVerdict(of: POSIXError(code)) == expected)
    let error = NSError(domain: NSPOSIXErrorDomain, code: Int(code.rawValue))
    #expect(FailureVerdict(of: error) == expected)
  }

  @Test func otherErrorsOfTheSystemAreUnknown() {
    #expect(FailureVerdict(of: POSIXError(.ENOSPC)) == FailureVerdict(of: TestError()))
  }

  @Test func aMutationMaySayThatItDidNotReachTheServer() {
    let error = MutationUnreachedError(underlying: POSIXError(.ENOENT))
    #expect(
      FailureVerdict(of: error) == FailureVerdict(failure: .connectivity, maybeApplied: false))
    #expect(FailureVerdict.code(of: error) == Int(ENOENT))
    #expect("\(error)".hasPrefix("The server was not reached: "))
  }

  @Test func aTimeoutIsALostAnswer() {
    let verdict = FailureVerdict(of: QueryTimeoutError(duration: .seconds(1)))
    #expect(verdict == FailureVerdict(failure: .connectivity, maybeApplied: true))
  }

  @Test func anyOtherErrorPassesFiveTimes() {
    let verdict = FailureVerdict(of: TestError())
    #expect(verdict.failure == .transient(retryAfter: nil))
    #expect(verdict.limit == 5 && verdict.maybeApplied)
  }

  @Test func onlyFailuresOfAServerThatWasReachedAreCharged() {
    let charged: [MutationFailure] = [
      .transient(retryAfter: nil), .conflict, .permanent(reason: ""),
    ]
    #expect(charged.allSatisfy { $0.isCharged })
    let free: [MutationFailure] = [.connectivity, .authentication, .cancelled]
    #expect(free.allSatisfy { !$0.isCharged })
  }
}
