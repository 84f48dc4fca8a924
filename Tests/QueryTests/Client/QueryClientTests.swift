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

  /// The stores of a type share what they begin with.
  @Test func aDefaultContextThatWasReplacedIsLetGo() {
    let client = QueryClient()
    weak var held: HeldObject?
    do {
      let object = HeldObject()
      held = object
      client.defaultContext.heldObject = object
    }
    _ = client.store(for: ProbeQuery())
    client.clearStores()
    #expect(held != nil)
    client.defaultContext = QueryContext()
    #expect(held == nil)
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

  // MARK: - One initialiser

  @Test func storageCreatorCacheAndContextGoTogether() throws {
    let storage = MemoryQueryStorage()
    let network = MockNetworkObserver(initialStatus: .disconnected)
    var context = QueryContext()
    context.trace = ["default"]
    let client = QueryClient(
      storage: storage, defaultContext: context,
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: nil),
      storeCreator: .default(retryLimit: 2, networkObserver: network))
    let store = client.store(for: ProbeQuery().persisted())
    #expect(store.context.queryStorage as? MemoryQueryStorage === storage)
    #expect(store.context.networkObserver as? MockNetworkObserver === network)
    #expect(store.context.maxRetries == 2)
    #expect(store.context.trace == ["default"])
    #expect(store.context.queryClient === client)
    #expect(client.defaultContext.queryStorage as? MemoryQueryStorage === storage)
    #expect(context.queryStorage == nil)
    store.currentValue = 5
    #expect(QueryClient(storage: storage).store(for: ProbeQuery().persisted()).currentValue == 5)
  }

  @Test func eachParameterMayBeLeftOut() {
    let storage = MemoryQueryStorage()
    let clients = [
      QueryClient(storage: storage, storeCreator: .default(retryLimit: 4)),
      QueryClient(storage: storage, storeCache: QueryClient.DefaultStoreCache()),
      QueryClient(storage: storage, defaultContext: QueryContext()),
      QueryClient(storage: storage),
    ]
    for client in clients {
      #expect(client.defaultContext.queryStorage as? MemoryQueryStorage === storage)
    }
    #expect(clients.map { $0.store(for: ProbeQuery()).context.maxRetries } == [4, 0, 0, 0])
    #expect(QueryClient(defaultContext: QueryContext()).defaultContext.queryStorage == nil)
    #expect(QueryClient(storeCreator: .default()).store(for: ProbeQuery()).context.maxRetries == 3)
    #expect(QueryClient().store(for: ProbeQuery()).context.maxRetries == 0)
  }

  @Test func withoutAStorageTheContextsOwnStays() {
    let (own, given) = (MemoryQueryStorage(), MemoryQueryStorage())
    var context = QueryContext()
    context.queryStorage = own
    let client = QueryClient(defaultContext: context)
    #expect(client.defaultContext.queryStorage as? MemoryQueryStorage === own)
    let other = QueryClient(storage: given, defaultContext: context)
    #expect(other.defaultContext.queryStorage as? MemoryQueryStorage === given)
  }

  @Test func storesOfAllKindsTakeAClosureAsASubscriber() {
    let client = QueryClient()
    let pages = client.store(for: ProbePages().disableAutomaticFetching())
    let mutation = client.store(for: ProbeMutation())
    let counts = Recorder<Int>()
    let subscriptions = [
      pages.subscribe { state in counts.append(state.currentValue.count) },
      mutation.subscribe { state in counts.append(state.history.count) },
    ]
    #expect(counts.elements == [0, 0])
    withExtendedLifetime(subscriptions) {}
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

private final class HeldObject: Sendable {}

extension QueryContext {
  fileprivate var heldObject: HeldObject? {
    get { self[HeldObjectKey.self] }
    set { self[HeldObjectKey.self] = newValue }
  }

  private enum HeldObjectKey: Key {
    static var defaultValue: HeldObject? { nil }
  }
}
