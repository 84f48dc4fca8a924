import Query
import TestSupport
import Testing

@Suite struct QueryStatusTests {
  private static let idle = QueryStatus<Int>.idle
  private static let loading = QueryStatus<Int>.loading
  private static let success = QueryStatus<Int>.result(.success(1))
  private static let failure = QueryStatus<Int>.result(.failure(TestError()))
  private static let cancelled = QueryStatus<Int>.result(.failure(CancellationError()))

  @Test func eachCaseAnswersForItself() {
    let all = [Self.idle, Self.loading, Self.success, Self.failure, Self.cancelled]
    #expect(all.map(\.isIdle) == [true, false, false, false, false])
    #expect(all.map(\.isLoading) == [false, true, false, false, false])
    #expect(all.map(\.isFinished) == [false, false, true, true, true])
    #expect(all.map(\.isSuccessful) == [false, false, true, false, false])
    #expect(all.map(\.isFailure) == [false, false, false, true, true])
    #expect(all.map(\.isCancelled) == [false, false, false, false, true])
    #expect(all.map(\.resultValue) == [nil, nil, 1, nil, nil])
    #expect(all.map { $0.resultError is TestError } == [false, false, false, true, false])
    #expect(all.map { $0.result == nil } == [true, true, false, false, false])
  }

  @Test func aPayloadThatIsNilIsASuccess() {
    let status = QueryStatus<Int?>.result(.success(nil))
    #expect(status.isSuccessful && status.isFinished && !status.isFailure)
    #expect(status.resultValue == .some(nil))
  }

  @Test func mapsTransformASuccessAlone() {
    #expect(Self.success.mapSuccess { "\($0)" }.resultValue == "1")
    #expect(Self.idle.mapSuccess { "\($0)" }.isIdle)
    #expect(Self.loading.mapSuccess { "\($0)" }.isLoading)
    #expect(Self.failure.mapSuccess { "\($0)" }.resultError is TestError)
    #expect(Self.success.flatMapSuccess { _ in QueryStatus<String>.loading }.isLoading)
    #expect(Self.failure.flatMapSuccess { _ in QueryStatus<String>.loading }.isFailure)
    #expect(Self.idle.flatMapSuccess { _ in QueryStatus<String>.loading }.isIdle)
  }

  @Test func mapsThrowWhatTheTransformThrows() {
    #expect(throws: TestError("t")) {
      try Self.success.mapSuccess { _ throws(TestError) -> Int in throw TestError("t") }
    }
    #expect(throws: TestError("t")) {
      try Self.success.flatMapSuccess { _ throws(TestError) -> QueryStatus<Int> in
        throw TestError("t")
      }
    }
    #expect(throws: Never.self) {
      try Self.idle.mapSuccess { _ throws(TestError) -> Int in throw TestError("t") }
    }
  }
}
