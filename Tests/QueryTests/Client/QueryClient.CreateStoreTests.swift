import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientCreateStoreTests {
  private let client = QueryClient.quiet()

  @Test func takesWhatStoreForTakes() {
    let page = InfiniteQueryPage(id: 4, value: "four")
    self.client.withStores { _, create in
      #expect(create(for: ProbeQuery()).currentValue == nil)
      #expect(create(for: ProbeQuery(), initialValue: 2).currentValue == 2)
      #expect(create(for: ProbeQuery().defaultValue(3)).currentValue == 3)
      #expect(create(for: ProbePages()).currentValue == [])
      #expect(create(for: ProbePages(), initialValue: [page]).currentValue == [page])
      #expect(create(for: ProbePages().defaultValue([page])).currentValue == [page])
      #expect(create(for: ProbeMutation()).currentValue == nil)
      #expect(create(for: ProbeMutation(), initialValue: 6).currentValue == 6)
      let state = QueryState<Int?, Int>(initialValue: 7)
      #expect(create(for: ProbeQuery(), initialState: state).currentValue == 7)
    }
  }

  @Test func makesStoresAsTheClientDoesAndKeepsNone() {
    self.client.defaultContext.trace = ["default"]
    let store = self.client.withStores { _, create in
      let store = create(for: ProbeQuery())
      #expect(create(for: ProbeQuery()) !== store)
      return store
    }
    #expect(store.context.trace == ["default"])
    #expect(store.context.queryClient === self.client)
    #expect(store.isAutomaticFetchingEnabled)
    #expect(self.client.stores(matching: []).isEmpty)
  }

  @Test func rememberTheTypeThatAStoreWasMadeFor() async {
    let store = self.client.withStores { stores, create in
      let store = create(for: ProbeQuery())
      stores.update(OpaqueQueryStore(erasing: store))
      return store
    }
    #expect(self.client.store(for: ProbeQuery()) === store)
    let warning = QueryWarning.duplicatePath(
      expectedType: ProbeQuery.self,
      foundType: OtherProbeQuery.self
    )
    await withExpectedWarnings([warning]) {
      #expect(self.client.store(for: OtherProbeQuery()) !== store)
    }
  }
}
