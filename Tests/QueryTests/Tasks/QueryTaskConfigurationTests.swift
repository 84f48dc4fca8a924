import Query
import TestSupport
import Testing

@Suite(.warningsAreIssues) struct QueryTaskConfigurationTests {
  private enum OtherKey: QueryContext.Key {
    static let defaultValue = 0
  }

  private static func markedStore(_ seen: Recorder<String>) -> IntStore {
    ScriptedQuery.store(in: QueryContext(mark: "store")) { context, _ in
      seen.append("\(context.mark) \(context[OtherKey.self]) \(Task.name ?? "nil")")
      return 1
    }
  }

  @Test func aConfigurationHoldsWhatIsSetOnIt() {
    let empty = QueryTaskConfiguration()
    #expect(empty.name == nil && empty.priority == nil && empty.executorPreference == nil)
    #expect(empty.context.description == "[]")
    var configuration = QueryTaskConfiguration(name: "n", priority: .low)
    #expect(configuration.name == "n")
    #expect(configuration.priority == .low)
    configuration.name = "m"
    configuration.priority = nil
    #expect(configuration.name == "m")
    #expect(configuration.priority == nil)
    #expect(configuration.context.queryTaskConfiguration.name == "m")
  }

  @Test func oneThatIsMadeWithoutAContextIsLaidOverTheStores() async throws {
    let seen = Recorder<String>()
    let store = Self.markedStore(seen)
    store.context[OtherKey.self] = 4
    try await store.fetch(using: QueryTaskConfiguration(name: "n"))
    var configuration = QueryTaskConfiguration()
    configuration.context[OtherKey.self] = 5
    try await store.fetch(using: configuration)
    try await store.fetchTask(using: configuration).runIfNeeded()
    #expect(
      seen.elements == [
        "store 4 n",
        "store 5 QueryStore<QueryState<Int?, Int>> Task",
        "store 5 QueryStore<QueryState<Int?, Int>> Task",
      ]
    )
  }

  @Test func oneThatIsMadeOfAContextReplacesTheStores() async throws {
    let seen = Recorder<String>()
    let store = Self.markedStore(seen)
    store.context[OtherKey.self] = 4
    var configuration = QueryTaskConfiguration(context: QueryContext(mark: "given"))
    try await store.fetch(using: configuration)
    configuration.name = "n"
    try await store.fetchTask(using: configuration).runIfNeeded()
    #expect(
      seen.elements == ["given 0 QueryStore<QueryState<Int?, Int>> Task", "given 0 n"]
    )
  }

  @Test func aNameThatTheStoreHasStaysUnderOneThatSetsNone() async throws {
    let seen = Recorder<String>()
    let store = Self.markedStore(seen)
    store.context.queryTaskConfiguration.name = "store's"
    try await store.fetch(using: QueryTaskConfiguration(priority: .high))
    var nameless = QueryTaskConfiguration()
    nameless.name = nil
    // Setting nil is setting.
    try await store.fetch(using: nameless)
    #expect(
      seen.elements == ["store 0 store's", "store 0 QueryStore<QueryState<Int?, Int>> Task"]
    )
  }

  @Test func noConfigurationIsTheStoresContext() async throws {
    let seen = Recorder<String>()
    let store = Self.markedStore(seen)
    store.context.queryTaskConfiguration.name = "store's"
    try await store.fetch(using: nil)
    try await store.fetchTask(using: nil).runIfNeeded()
    #expect(seen.elements == ["store 0 store's", "store 0 store's"])
  }

  @Test func theConfigurationOfAContextIsAViewOfTheWhole() {
    var context = QueryContext(mark: "m")
    context.queryTaskConfiguration.name = "n"
    #expect(context.queryTaskConfiguration.context.mark == "m")
    #expect(context.queryTaskConfiguration.name == "n")
    #expect(context.mark == "m")
  }

  @Test func settingItWritesTheThreeAndWhatElseIsHeldAndRemovesNothing() {
    var context = QueryContext(mark: "kept")
    context.queryTaskConfiguration = QueryTaskConfiguration(name: "a", priority: .low)
    var configuration = QueryTaskConfiguration(name: "b")
    configuration.context[OtherKey.self] = 3
    context.queryTaskConfiguration = configuration
    #expect(context.queryTaskConfiguration.name == "b")
    // Written, although the new one holds none.
    #expect(context.queryTaskConfiguration.priority == nil)
    #expect(context[OtherKey.self] == 3)
    #expect(context.mark == "kept")
    context.queryTaskConfiguration = QueryTaskConfiguration(context: QueryContext(mark: "new"))
    #expect(context.queryTaskConfiguration.name == nil)
    #expect(context.mark == "new")
    #expect(context[OtherKey.self] == 3)
  }

  @Test func theModifierWritesAllThreeAndNoOtherKey() {
    var configuration = QueryTaskConfiguration(name: "n")
    configuration.context.mark = "not taken"
    var initial = QueryContext(mark: "initial")
    initial.queryTaskConfiguration.priority = .low
    let store = QueryStore.detached(
      query: ScriptedQuery<Int> { _, _ in 1 }.taskConfiguration(configuration),
      initialValue: nil,
      initialContext: initial
    )
    #expect(store.context.queryTaskConfiguration.name == "n")
    #expect(store.context.queryTaskConfiguration.priority == nil)
    #expect(store.context.mark == "initial")
    #expect(store.fetchTask().configuration.name == "n")
  }

  @Test func theModifierEditsWhatIsThereOnce() async throws {
    let edits = Counter()
    var initial = QueryContext()
    initial.queryTaskConfiguration.priority = .low
    let query = ScriptedQuery<Int> { _, _ in 1 }.taskConfiguration {
      edits.increment()
      $0.name = "\($0.name ?? "nil") \($0.priority == .low)"
    }
    let store = QueryStore.detached(query: query, initialValue: nil, initialContext: initial)
    try await store.fetch()
    #expect(edits.value == 1)
    #expect(store.context.queryTaskConfiguration.name == "nil true")
    #expect(store.context.queryTaskConfiguration.priority == .low)
  }

  @Test func theModifierNearerToTheRequestWins() {
    let query = ScriptedQuery<Int> { _, _ in 1 }
      .taskConfiguration(QueryTaskConfiguration(name: "inner"))
      .taskConfiguration(QueryTaskConfiguration(name: "outer"))
    let store = QueryStore.detached(query: query, initialValue: nil)
    #expect(store.context.queryTaskConfiguration.name == "inner")
  }
}
