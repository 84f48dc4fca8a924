import Testing

@testable import Query

@Suite struct MutationProgressTests {
  @Test func theFractionIsThatOfTheWhole() {
    #expect(MutationProgress(sent: 5, total: 20).fraction == 0.25)
    #expect(MutationProgress(sent: 30, total: 20).fraction == 1)
    #expect(MutationProgress(sent: 5).fraction == nil)
    #expect(MutationProgress(sent: 0, total: 0).fraction == nil)
  }

  @Test func stepsOfLessThanAHundredthAreLeftOut() {
    let total = Int64(100_000_000)
    func isNews(_ sent: Int64, after last: Int64?) -> Bool {
      MutationProgress(sent: sent, total: total)
        .isNews(after: last.map { MutationProgress(sent: $0, total: total) })
    }
    #expect(isNews(0, after: nil))
    #expect(!isNews(0, after: 0))
    #expect(!isNews(999_999, after: 0))
    #expect(isNews(1_000_000, after: 0))
    #expect(isNews(total, after: total - 1), "the end")
    #expect(isNews(0, after: 1_000_000), "it began again")
    #expect(MutationProgress(sent: 1, total: 2).isNews(after: MutationProgress(sent: 1)))
    #expect(!MutationProgress(sent: 1_000).isNews(after: MutationProgress(sent: 0)))
  }
}
