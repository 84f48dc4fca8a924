import Query
import Testing

@Suite struct MutationHistoryLimitsTests {
  @Test func theDefaultsAreThoseOfTheDocumentation() {
    let limits = MutationHistoryLimits()
    #expect(limits.perMutation == 50)
    #expect(limits.total == 5_000)
    #expect(limits.days == 30)
    #expect(limits.bytes == 8 * 1_024 * 1_024)
  }
}
