import Query
import TestSupport
import Testing

@Suite struct QueryContinuationTests {
  @Test func eachFormOfYieldHandsOverItsResultAndContext() {
    let log = Recorder<String>()
    let continuation = QueryContinuation<Int> { result, context in
      switch result {
      case .success(let value): log.append("\(value) \(context?.mark ?? "nil")")
      case .failure(let error): log.append("\(error) \(context?.mark ?? "nil")")
      }
    }
    continuation.yield(1)
    continuation.yield(2, using: QueryContext(mark: "a"))
    continuation.yield(error: TestError("e"))
    continuation.yield(error: TestError("f"), using: QueryContext(mark: "b"))
    continuation.yield(with: .success(3))
    continuation.yield(with: .failure(TestError("g")), using: QueryContext(mark: "c"))
    #expect(
      log.elements == [
        "1 nil", "2 a", "TestError(e) nil", "TestError(f) b", "3 nil", "TestError(g) c",
      ]
    )
  }
}
