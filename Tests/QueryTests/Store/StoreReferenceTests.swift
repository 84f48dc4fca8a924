import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct StoreReferenceTests {
  @Test func aContextOutsideAFetchBelongsToNoStore() {
    #expect(QueryContext().currentFetchingQueryStore == nil)
    #expect(ScriptedQuery.store().context.currentFetchingQueryStore == nil)
  }

  @Test func theContextOfAFetchBelongsToItsStore() async throws {
    let found = Box<Bool?>(nil)
    let expected = Box<IntStore?>(nil)
    let store = ScriptedQuery.store { context, _ in
      found.value = context.currentFetchingQueryStore?.base as? IntStore === expected.value
      return 1
    }
    expected.value = store
    try await store.fetch()
    #expect(found.value == true)
    expected.value = nil
  }

  @Test func theContextOfAFetchInAFetchBelongsToTheInnerStore() async throws {
    let inner = ScriptedQuery.store { context, _ in
      #expect(context.currentFetchingQueryStore?.path == ["scripted"])
      return context.mark == "outer" ? 1 : 0
    }
    let outer = IntStore.detached(
      query: ScriptedQuery(path: ["outer"]) { context, _ in
        #expect(context.currentFetchingQueryStore?.path == ["outer"])
        let identifier = context.queryRunningTaskIdentifier
        let task = inner.fetchTask(using: context)
        let value = try await task.runIfNeeded()
        #expect(task.id != identifier)
        return value
      },
      initialValue: nil,
      initialContext: QueryContext(mark: "outer")
    )
    #expect(try await outer.fetch() == 1)
  }

  @Test func theStoreOfAContextCanBeSetAndIsNotKept() {
    var store: IntStore? = ScriptedQuery.store()
    weak let released = store
    var context = QueryContext()
    context.currentFetchingQueryStore = store.map { OpaqueQueryStore(erasing: $0) }
    #expect(context.currentFetchingQueryStore?.base as? IntStore === store)
    store = nil
    #expect(released == nil)
    #expect(context.currentFetchingQueryStore == nil)
    context.currentFetchingQueryStore = nil
    #expect(context.currentFetchingQueryStore == nil)
  }
}
