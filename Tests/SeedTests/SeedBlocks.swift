extension SeedBlock {
  /// Every code block of the documents, in their order.
  ///
  /// A block stands here as it is written there, but for these changes. `using continuation` is
  /// `with continuation`, and an `isolation` parameter is gone. What only Apple's systems have is
  /// replaced: the path monitor by a mock observer, Firestore by a database in memory, SwiftUI's
  /// environment and views by stand-ins over Observation. An ellipsis is filled with what the text
  /// says. Statements stand in a test. Types are private, or in an enum named after the block, since
  /// blocks use one name for several types; extensions of `QueryContext` are private to their file.
  static let all: [SeedBlock] =
    queryContextBlocks + operationContextBlocks + queryControllersBlocks + modifiersBlocks
    + paradigmsBlocks
}

// MARK: - Document 000, "Utilizing the QueryContext"

private let queryContextBlocks: [SeedBlock] = [
  SeedBlock(
    .queryContext, 1, "a request gets the context",
    in: "QueryContext/ContextAccessTests.swift",
    test: "QueryContext/ContextAccessTests.access"
  ),
  SeedBlock(
    .queryContext, 2, "fetching by the retry index",
    in: "QueryContext/ContextAccessTests.swift",
    test: "QueryContext/ContextAccessTests.retryIndex"
  ),
  SeedBlock(
    .queryContext, 3, "a custom property",
    in: "QueryContext/CustomPropertiesTests.swift",
    test: "QueryContext/CustomPropertiesTests.customProperty"
  ),
  SeedBlock(
    .queryContext, 4, "fetching by a custom property",
    in: "QueryContext/CustomPropertiesTests.swift",
    test: "QueryContext/CustomPropertiesTests.fetchByCustomProperty"
  ),
  SeedBlock(
    .queryContext, 5, "a default that is computed once",
    in: "QueryContext/CustomPropertiesTests.swift",
    test: "QueryContext/CustomPropertiesTests.defaultValues"
  ),
  SeedBlock(
    .queryContext, 6, "a setup",
    in: "QueryContext/CustomPropertiesTests.swift",
    test: "QueryContext/CustomPropertiesTests.setup"
  ),
  SeedBlock(
    .queryContext, 7, "a setup that disables retries",
    in: "QueryContext/CustomPropertiesTests.swift",
    test: "QueryContext/CustomPropertiesTests.noRetry"
  ),
  SeedBlock(
    .queryContext, 8, "a query over the shared session",
    in: "QueryContext/URLSessionPostTests.swift",
    test: "QueryContext/URLSessionPostTests.fetch"
  ),
  SeedBlock(
    .queryContext, 9, "a transport in the context",
    in: "QueryContext/DataTransportTests.swift",
    test: "QueryContext/DataTransportTests.transport"
  ),
  SeedBlock(
    .queryContext, 10, "the query over the transport",
    in: "QueryContext/DataTransportTests.swift",
    test: "QueryContext/DataTransportTests.returnsPost"
  ),
  SeedBlock(
    .queryContext, 11, "a test with a mock transport",
    in: "QueryContext/DataTransportTests.swift",
    test: "QueryContext/DataTransportTests.returnsPost"
  ),
  SeedBlock(
    .queryContext, 12, "overriding the clock",
    in: "QueryContext/DataTransportTests.swift",
    test: "QueryContext/DataTransportTests.overridingTime"
  ),
  SeedBlock(
    .queryContext, 13, "overriding the delayer",
    in: "QueryContext/DataTransportTests.swift",
    test: "QueryContext/DataTransportTests.overridingDelays"
  ),
]

// MARK: - Document 001, "Utilizing the OperationContext"

private let operationContextBlocks: [SeedBlock] = [
  SeedBlock(
    .operationContext, 1, "a custom property",
    in: "OperationContext/OperationCustomPropertiesTests.swift",
    test: "OperationContext/OperationCustomPropertiesTests.customProperty"
  ),
  SeedBlock(
    .operationContext, 2, "fetching by a custom property",
    in: "OperationContext/OperationCustomPropertiesTests.swift",
    test: "OperationContext/OperationCustomPropertiesTests.fetchByCustomProperty"
  ),
  SeedBlock(
    .operationContext, 3, "a default that is computed once",
    in: "OperationContext/OperationCustomPropertiesTests.swift",
    test: "OperationContext/OperationCustomPropertiesTests.expensiveDefault"
  ),
  SeedBlock(
    .operationContext, 4, "a setup",
    in: "OperationContext/OperationCustomPropertiesTests.swift",
    test: "OperationContext/OperationCustomPropertiesTests.setup"
  ),
  SeedBlock(
    .operationContext, 5, "a setup that disables retries",
    in: "OperationContext/OperationCustomPropertiesTests.swift",
    test: "OperationContext/OperationCustomPropertiesTests.noRetry"
  ),
  SeedBlock(
    .operationContext, 6, "overriding the clock",
    in: "OperationContext/OperationOverridesTests.swift",
    test: "OperationContext/OperationOverridesTests.overridingTime"
  ),
  SeedBlock(
    .operationContext, 7, "overriding the delayer",
    in: "OperationContext/OperationOverridesTests.swift",
    test: "OperationContext/OperationOverridesTests.overridingDelays"
  ),
]

// MARK: - Document 002, "Utilizing QueryControllers"

private let queryControllersBlocks: [SeedBlock] = [
  SeedBlock(
    .queryControllers, 1, "refetching when the network is back",
    in: "QueryControllers/RefetchOnConnectionTests.swift",
    test: "QueryControllers/RefetchOnConnectionTests.refetch"
  ),
  SeedBlock(
    .queryControllers, 2, "the shape of a controller",
    in: "QueryControllers/MyControllerTests.swift",
    test: "QueryControllers/MyControllerTests.lifetime"
  ),
  SeedBlock(
    .queryControllers, 3, "yielding values, errors and refetches",
    in: "QueryControllers/MyControllerTests.swift",
    test: "QueryControllers/MyControllerTests.yields"
  ),
  SeedBlock(
    .queryControllers, 4, "a database in the context",
    in: "QueryControllers/FirestoreTests.swift",
    test: "QueryControllers/FirestoreTests.injection"
  ),
  SeedBlock(
    .queryControllers, 5, "a query over the database",
    in: "QueryControllers/FirestoreTests.swift",
    test: "QueryControllers/FirestoreTests.fetchAndChanges"
  ),
  SeedBlock(
    .queryControllers, 6, "a controller over the database",
    in: "QueryControllers/FirestoreTests.swift",
    test: "QueryControllers/FirestoreTests.failure"
  ),
  SeedBlock(
    .queryControllers, 7, "the query with its controller",
    in: "QueryControllers/FirestoreTests.swift",
    test: "QueryControllers/FirestoreTests.lifetime"
  ),
  SeedBlock(
    .queryControllers, 8, "the modifier behind controllers",
    in: "QueryControllers/QueryControllerModifierTests.swift",
    test: "QueryControllers/QueryControllerModifierTests.modifier"
  ),
  SeedBlock(
    .queryControllers, 9, "the controllers of a context",
    in: "QueryControllers/QueryControllersPropertyTests.swift",
    test: "QueryControllers/QueryControllersPropertyTests.property"
  ),
]

// MARK: - Document 003, "Customizing Queries with Modifiers"

private let modifiersBlocks: [SeedBlock] = [
  SeedBlock(
    .modifiers, 1, "a modifier that delays",
    in: "Modifiers/DelayModifierTests.swift",
    test: "Modifiers/DelayModifierTests.order"
  ),
  SeedBlock(
    .modifiers, 2, "a method that applies it",
    in: "Modifiers/DelayModifierTests.swift",
    test: "Modifiers/DelayModifierTests.conformances"
  ),
  SeedBlock(
    .modifiers, 3, "two queries with it",
    in: "Modifiers/DelayModifierTests.swift",
    test: "Modifiers/DelayModifierTests.delay"
  ),
  SeedBlock(
    .modifiers, 4, "a modifier that sets the context up",
    in: "Modifiers/OverridableDelayModifierTests.swift",
    test: "Modifiers/OverridableDelayModifierTests.setup"
  ),
  SeedBlock(
    .modifiers, 5, "overriding what it set",
    in: "Modifiers/OverridableDelayModifierTests.swift",
    test: "Modifiers/OverridableDelayModifierTests.override"
  ),
]

// MARK: - Document 004, "Queries, Infinite Queries, and Mutations"

private let paradigmsBlocks: [SeedBlock] = [
  SeedBlock(
    .paradigms, 1, "a query with modifiers",
    in: "Paradigms/QueriesTests.swift",
    test: "Paradigms/QueriesTests.retry"
  ),
  SeedBlock(
    .paradigms, 2, "an infinite query",
    in: "Paradigms/PlayersQuery.swift",
    test: "Paradigms/InfiniteQueriesTests.ends"
  ),
  SeedBlock(
    .paradigms, 3, "fetching pages",
    in: "Paradigms/InfiniteQueriesTests.swift",
    test: "Paradigms/InfiniteQueriesTests.fetching"
  ),
  SeedBlock(
    .paradigms, 4, "fetching pages from a view",
    in: "Paradigms/ViewTests.swift",
    test: "Paradigms/ViewTests.playersView"
  ),
  SeedBlock(
    .paradigms, 5, "going through the pages",
    in: "Paradigms/InfiniteQueriesTests.swift",
    test: "Paradigms/InfiniteQueriesTests.pages"
  ),
  SeedBlock(
    .paradigms, 6, "which fetches wait for which",
    in: "Paradigms/InfiniteQueryConcurrencyTests.swift",
    test: "Paradigms/InfiniteQueryConcurrencyTests.sequence"
  ),
  SeedBlock(
    .paradigms, 7, "a mutation",
    in: "Paradigms/CreatePlayerMutation.swift",
    test: "Paradigms/MutationsTests.arguments"
  ),
  SeedBlock(
    .paradigms, 8, "mutating, and trying again",
    in: "Paradigms/MutationsTests.swift",
    test: "Paradigms/MutationsTests.fetching"
  ),
  SeedBlock(
    .paradigms, 9, "mutating from a view",
    in: "Paradigms/ViewTests.swift",
    test: "Paradigms/ViewTests.createPlayerView"
  ),
  SeedBlock(
    .paradigms, 10, "logic over the history of a mutation",
    in: "Paradigms/ViewTests.swift",
    test: "Paradigms/ViewTests.mutationHistory"
  ),
  SeedBlock(
    .paradigms, 11, "a protocol for recursive requests",
    in: "RecursiveQuery/RecursiveProtocolDraftTests.swift",
    test: "RecursiveQuery/RecursiveProtocolDraftTests.inheriting"
  ),
  SeedBlock(
    .paradigms, 12, "values that are trees",
    in: "RecursiveQuery/RecursiveValue.swift",
    test: "RecursiveQuery/RecursiveValueTests.set"
  ),
  SeedBlock(
    .paradigms, 13, "the protocol with such values",
    in: "RecursiveQuery/RecursiveProtocolDraftTests.swift",
    test: "RecursiveQuery/RecursiveProtocolDraftTests.values"
  ),
  SeedBlock(
    .paradigms, 14, "the protocol with a fetch for subtrees",
    in: "RecursiveQuery/RecursiveProtocolDraftTests.swift",
    test: "RecursiveQuery/RecursiveProtocolDraftTests.subtrees"
  ),
  SeedBlock(
    .paradigms, 15, "the protocol with a root",
    in: "RecursiveQuery/RecursiveProtocolDraftTests.swift",
    test: "RecursiveQuery/RecursiveProtocolDraftTests.root"
  ),
  SeedBlock(
    .paradigms, 16, "a state for recursive requests",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.newState"
  ),
  SeedBlock(
    .paradigms, 17, "the protocol with that state",
    in: "RecursiveQuery/RecursiveQueryRequest.swift",
    test: "RecursiveQuery/RecursiveQueryTests.fetchRoot"
  ),
  SeedBlock(
    .paradigms, 18, "an extension that does not compile",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: nil
  ),
  SeedBlock(
    .paradigms, 19, "a protocol for the state, and its extension",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.storeExtension"
  ),
  SeedBlock(
    .paradigms, 20, "the signature of fetchTree",
    in: "RecursiveQuery/RecursiveFetchTreeDraftTests.swift",
    test: "RecursiveQuery/RecursiveFetchTreeDraftTests.fetchTree"
  ),
  SeedBlock(
    .paradigms, 21, "fetchTree with a configuration",
    in: "RecursiveQuery/RecursiveFetchTreeConfigurationDraftTests.swift",
    test: "RecursiveQuery/RecursiveFetchTreeConfigurationDraftTests.configuration"
  ),
  SeedBlock(
    .paradigms, 22, "a context property for the node",
    in: "RecursiveQuery/RecursiveQueryContextValues.swift",
    test: "RecursiveQuery/RecursiveQueryTests.fetchSubtree"
  ),
  SeedBlock(
    .paradigms, 23, "fetchTree with the node",
    in: "RecursiveQuery/QueryStore+RecursiveQueries.swift",
    test: "RecursiveQuery/RecursiveQueryTests.configuration"
  ),
  SeedBlock(
    .paradigms, 24, "scheduling a task, and loading",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.tasks"
  ),
  SeedBlock(
    .paradigms, 25, "a fetch that calls fetchTree",
    in: "RecursiveQuery/RecursiveQueryRequest.swift",
    test: "RecursiveQuery/RecursiveQueryTests.fetchRoot"
  ),
  SeedBlock(
    .paradigms, 26, "an update by a fetch",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.updates"
  ),
  SeedBlock(
    .paradigms, 27, "the end of a task",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.tasks"
  ),
  SeedBlock(
    .paradigms, 28, "an update by hand",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.updates"
  ),
  SeedBlock(
    .paradigms, 29, "one update by means of the other",
    in: "RecursiveQuery/RecursiveQueryState.swift",
    test: "RecursiveQuery/RecursiveQueryTests.manualUpdate"
  ),
  SeedBlock(
    .paradigms, 30, "a reset",
    in: "RecursiveQuery/RecursiveDraft.swift",
    test: "RecursiveQuery/RecursiveDraftTests.reset"
  ),
  SeedBlock(
    .paradigms, 31, "the whole paradigm",
    in: "RecursiveQuery/RecursiveQueryState.swift",
    test: "RecursiveQuery/RecursiveQueryTests.reset"
  ),
  SeedBlock(
    .paradigms, 32, "the paradigm in use",
    in: "RecursiveQuery/CommentThreadQuery.swift",
    test: "RecursiveQuery/RecursiveQueryTests.client"
  ),
]
