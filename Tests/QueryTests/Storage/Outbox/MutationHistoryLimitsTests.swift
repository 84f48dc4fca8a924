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

  @Test func aHistoryMayExceedItsLimitsByAFiftieth() {
    let limits = MutationHistoryLimits(total: 1_000, bytes: 50_000)
    func isExceeded(_ count: Int64, _ bytes: Int64, withSlack: Bool = true) -> Bool {
      limits.isExceeded(count: count, bytes: bytes, withSlack: withSlack)
    }
    #expect(!isExceeded(1_020, 51_000))
    #expect(isExceeded(1_021, 0) && isExceeded(0, 51_001))
    #expect(!isExceeded(1_000, 50_000, withSlack: false))
    #expect(isExceeded(1_001, 0, withSlack: false) && isExceeded(0, 50_001, withSlack: false))
  }
}
