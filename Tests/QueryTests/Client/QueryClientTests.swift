import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryClientTests {
  // MARK: - The default context

  @Test func storesStartWithTheDefaultContextOfTheirCreation() {
    var context = QueryContext()
    context.trace = ["default"]
    let client = QueryClient(defaultContext: context)
    let early = client.store(for: ProbeQuery(path: ["early"]))
    client.defaultContext.trace.append("changed")
    let late = client.store(for: ProbeQuery(path: ["late"]))
    #expect(early.context.trace == ["default"])
    #expect(late.context.trace == ["default", "changed"])
    #expect(context.trace == ["default"])
  }

  @Test func theContextHasTheClient() {
    let client = QueryClient()
    #expect(client.defaultContext.queryClient === client)
    #expect(client.store(for: ProbeQuery()).context.queryClient === client)
    #expect(QueryContext().queryClient == nil)
  }

  @Test func theSetterPutsTheClientBack() {
    let client = QueryClient()
    client.defaultContext = QueryContext()
    #expect(client.defaultContext.queryClient === client)
    client.defaultContext.queryClient = nil
    #expect(client.defaultContext.queryClient === client)
  }

  @Test func aClientMadeWithAnothersContextIsTheOneOfItsStores() {
    let first = QueryClient()
    let second = QueryClient(defaultContext: first.defaultContext)
    #expect(second.defaultContext.queryClient === second)
    #expect(second.store(for: ProbeQuery()).context.queryClient === second)
    #expect(first.defaultContext.queryClient === first)
  }

  @Test func aRequestReachesTheClient() async throws {
    let query = ProbeQuery(onFetch: { context, _ in
      let client = try #require(context.queryClient)
      return try await client.store(for: OtherProbeQuery(path: ["other"])).fetch()
    })
    let client = QueryClient.quiet()
    #expect(try await client.store(for: query).fetch() == 2)
    #expect(client.store(with: ["other"])?.currentValue as? Int == 2)
  }

  // MARK: - Lifetime

  @Test func aClientIsReleasedThoughItsStoresAreNot() {
    var client: QueryClient? = QueryClient()
    weak let released = client
    let store = client?.store(for: ProbeQuery())
    let context = client?.defaultContext
    client = nil
    #expect(released == nil)
    #expect(store?.context.queryClient == nil)
    #expect(context?.queryClient == nil)
  }

  @Test func aClientThatIsSetInAContextIsKept() {
    var client: QueryClient? = QueryClient()
    weak let kept = client
    var context = QueryContext()
    context.queryClient = client
    client = nil
    #expect(kept != nil)
    context.queryClient = nil
    #expect(kept == nil)
  }

  @Test func aClientTakesItsStoresWithIt() async throws {
    let released = Recorder<String>()
    var client: QueryClient? = QueryClient.quiet()
    let query = ProbeQuery(onSetup: { context in
      context.kept = ReleaseProbe { released.append("store") }
    })
    try await client?.store(for: query).fetch()
    #expect(released.elements == [])
    client = nil
    #expect(released.elements == ["store"])
  }

  // MARK: - Tests

  @Test func insideATestAClientMakesNoDelaysAndRetries() async {
    let attempts = Counter()
    let store = QueryClient().store(
      for: ProbeQuery(onFetch: { _, _ in
        attempts.increment()
        throw TestError()
      })
    )
    #expect(store.context.queryDelayer is NoDelayer)
    #expect(store.context.queryBackoffFunction.rawDescription == "No Backoff")
    await #expect(throws: TestError()) { try await store.fetch() }
    #expect(attempts.value == 1)
  }
}
