import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryRequestTests {
  private struct HashableQuery: QueryRequest, Hashable {
    let id: Int

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { self.id }
  }

  private struct IdentifiableQuery: QueryRequest, Identifiable {
    let id = "me"
    let note = [1.5]

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { 1 }
  }

  private actor ActorQuery: QueryRequest, Identifiable {
    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { 1 }
  }

  private struct BothQuery: QueryRequest, Hashable, Identifiable {
    let id: Int
    var path: QueryPath { ["both", self.id] }

    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Int>
    ) async throws -> Int { 1 }
  }

  private struct GenericQuery<Element: Hashable & Sendable>: QueryRequest, Hashable {
    func fetch(
      in context: QueryContext,
      with continuation: QueryContinuation<Element?>
    ) async throws -> Element? { nil }
  }

  // MARK: - Paths

  @Test func aHashableQueryIsItsOnlyPathElement() {
    #expect(HashableQuery(id: 1).path == QueryPath(HashableQuery(id: 1)))
    #expect(HashableQuery(id: 1).path.count == 1)
    #expect(HashableQuery(id: 1).path != HashableQuery(id: 2).path)
  }

  @Test func anIdentifiableQueryHasItsIdentifierAsPath() {
    #expect(IdentifiableQuery().path == ["me"])
  }

  @Test func anActorHasItsObjectIdentifierAsPath() {
    let query = ActorQuery()
    #expect(query.path == QueryPath(ObjectIdentifier(query)))
    #expect(query.path != ActorQuery().path)
  }

  @Test func aQueryThatIsBothSaysItself() {
    #expect(BothQuery(id: 4).path == ["both", 4])
  }

  @Test func theStoreHasThePathOfItsQuery() {
    let store = QueryStore.detached(query: HashableQuery(id: 9), initialValue: nil)
    #expect(store.path == HashableQuery(id: 9).path)
  }

  // MARK: - Names

  @Test func theDebugNameIsTheTypeNameWithoutModuleAndGenerics() {
    #expect(HashableQuery(id: 1)._debugTypeName == "QueryRequestTests.HashableQuery")
    #expect(GenericQuery<Int>()._debugTypeName == "QueryRequestTests.GenericQuery")
    #expect(PagesQuery()._debugTypeName == "PagesQuery")
  }

  @Test func modifiersChangeNeitherNameNorPath() {
    let query = HashableQuery(id: 3).retry(limit: 1).deduplicated().delayer(.noDelay)
    #expect(query._debugTypeName == HashableQuery(id: 3)._debugTypeName)
    #expect(query.path == HashableQuery(id: 3).path)
  }

  // MARK: - Setup

  @Test func setupIsCalledOnceForAStore() async throws {
    struct SetupQuery: QueryRequest {
      let path: QueryPath = ["setup"]
      let setups = Counter()

      func setup(context: inout QueryContext) {
        self.setups.increment()
        context.maxRetries += 1
      }

      func fetch(
        in context: QueryContext,
        with continuation: QueryContinuation<Int>
      ) async throws -> Int { context.maxRetries }
    }
    let query = SetupQuery()
    var context = QueryContext()
    context.maxRetries = 10
    let store = QueryStore.detached(query: query, initialValue: nil, initialContext: context)
    #expect(query.setups.value == 1)
    #expect(store.context.maxRetries == 11)
    #expect(try await store.fetch() == 11)
    store.reset()
    #expect(try await store.fetch() == 11)
    #expect(query.setups.value == 1)
    #expect(context.maxRetries == 10)
  }

  @Test func setupLeavesTheContextAloneByDefault() {
    var context = QueryContext()
    HashableQuery(id: 1).setup(context: &context)
    #expect("\(context)" == "[]")
  }

  @Test func aQueryOfOptionalsTellsAFetchedNilFromNone() async throws {
    let store = QueryStore.detached(query: GenericQuery<Int>(), initialValue: nil)
    #expect(store.currentValue == nil)
    try await store.fetch()
    #expect(store.currentValue == .some(nil))
    #expect(store.status.isSuccessful)
  }
}
