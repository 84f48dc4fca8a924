import TestSupport
import Testing

@testable import Query

@Suite struct FirstResultTests {
  @Test func theFirstResultCounts() async {
    let result = FirstResult<Int>()
    #expect(result.set(1))
    #expect(!result.set(2))
    #expect(await result.value() == 1)
  }

  @Test func aWaiterGetsAResultThatComesLater() async {
    let result = FirstResult<Int>()
    async let value = result.value()
    await Task.yield()
    result.set(3)
    #expect(await value == 3)
  }
}
