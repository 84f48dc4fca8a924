import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct MemoryPressureTests {
  @Test func levels() {
    #expect(MemoryPressure.normal.rawValue == 1)
    #expect(MemoryPressure.warning.rawValue == 2)
    #expect(MemoryPressure.critical.rawValue == 4)
    #expect(MemoryPressure.defaultEvictable == [.warning, .critical])
    #expect(MemoryPressure.all == [.normal, .warning, .critical])
    #expect(MemoryPressure(rawValue: 6) == .defaultEvictable)
  }

  @Test func theContextsDefaultIsEvictable() {
    #expect(QueryContext().evictableMemoryPressure == .defaultEvictable)
  }

  @Test func theInnerModifierWins() {
    let query = ProbeQuery().evictWhen(pressure: .all).evictWhen(pressure: [])
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.evictableMemoryPressure == .all)
  }
}
