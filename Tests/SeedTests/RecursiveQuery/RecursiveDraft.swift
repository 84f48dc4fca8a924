import Foundation
import Query

// Document 004: the state as it is built piece by piece, blocks 16, 18, 19, 24, 26, 27, 28 and 30.
// Block 31, in `RecursiveQueryState.swift`, is what it ends as.

enum RecursiveDraft {
  // MARK: - Block 16

  struct RecursiveQueryState<Value: RecursiveValue>: QueryStateProtocol {
    typealias StateValue = Value
    typealias QueryValue = Value
    typealias StatusValue = Value

    private(set) var currentValue: Value
    let initialValue: Value
    private(set) var valueUpdateCount = 0
    private(set) var valueLastUpdatedAt: Date?
    private(set) var error: (any Error)?
    private(set) var errorUpdateCount = 0
    private(set) var errorLastUpdatedAt: Date?
    private(set) var activeTasks = IdentifiedArrayOf<QueryTask<Value>>()

    init(initialValue: Value) {
      self.currentValue = initialValue
      self.initialValue = initialValue
    }

    // We'll come back to the function requirements later...
  }

  // MARK: - Block 18

  // This is a compiler error: "reference to generic type 'RecursiveQueryState' requires arguments
  // in <...>". It stands here as a comment alone.
  //
  // extension QueryStore where State == RecursiveQueryState {
  //   // More to come...
  // }

  // MARK: - Block 19

  protocol _RecursiveQueryStateProtocol: QueryStateProtocol
  where
    StateValue: RecursiveValue<NodeID>,
    QueryValue: RecursiveValue<NodeID>,
    StatusValue: RecursiveValue<NodeID>
  {
    associatedtype NodeID: Sendable
  }
}

extension RecursiveDraft.RecursiveQueryState: RecursiveDraft._RecursiveQueryStateProtocol {
  typealias NodeID = Value.NodeID
}

extension QueryStore where State: RecursiveDraft._RecursiveQueryStateProtocol {
  // More to come...

  /// Whether the tree has a node; that the extension can be used is what matters.
  func hasNode(_ id: State.NodeID) -> Bool
  where State.StateValue.NodeID == State.NodeID {
    self.currentValue[id: id] != nil
  }
}

// MARK: - Block 24

extension RecursiveDraft.RecursiveQueryState {
  var isLoading: Bool {
    !self.activeTasks.isEmpty
  }

  mutating func scheduleFetchTask(_ task: inout QueryTask<Value>) {
    activeTasks.append(task)
  }
}

// MARK: - Block 26

extension RecursiveDraft.RecursiveQueryState {
  mutating func update(
    with result: Result<QueryValue, any Error>,
    for task: QueryTask<QueryValue>
  ) {
    // swift-format-ignore: UseLetInEveryBoundCaseVariable
    switch result {
    case let .success(value):
      self.currentValue[id: value.nodeId] = value
      self.valueUpdateCount += 1
      self.valueLastUpdatedAt = task.configuration.context.queryClock.now()
      self.error = nil
    case let .failure(error):
      self.error = error
      self.errorUpdateCount += 1
      self.errorLastUpdatedAt = task.configuration.context.queryClock.now()
    }
  }
}

// MARK: - Block 27

extension RecursiveDraft.RecursiveQueryState {
  mutating func finishFetchTask(_ task: QueryTask<QueryValue>) {
    activeTasks.remove(id: task.id)
  }
}

// MARK: - Block 28

extension RecursiveDraft.RecursiveQueryState {
  mutating func update(
    with result: Result<StateValue, any Error>,
    using context: QueryContext
  ) {
    // swift-format-ignore: UseLetInEveryBoundCaseVariable
    switch result {
    case let .success(value):
      self.currentValue[id: value.nodeId] = value
      self.valueUpdateCount += 1
      self.valueLastUpdatedAt = context.queryClock.now()
      self.error = nil
    case let .failure(error):
      self.error = error
      self.errorUpdateCount += 1
      self.errorLastUpdatedAt = context.queryClock.now()
    }
  }
}

// MARK: - Block 30

extension RecursiveDraft.RecursiveQueryState {
  mutating func reset(using context: QueryContext) {
    for task in activeTasks {
      task.cancel()
    }
    self = Self(initialValue: initialValue)
  }
}

// MARK: - A request

/// A query over the draft's state, which fetches the node that the context names, or the root.
struct DraftThreadQuery: QueryRequest, Hashable {
  typealias State = RecursiveDraft.RecursiveQueryState<Comment>

  func fetch(
    in context: QueryContext,
    with continuation: QueryContinuation<Comment>
  ) async throws -> Comment {
    try await context.commentsAPI.thread(context.recursiveValues.nodeId as? Int ?? 0)
  }

  /// A store that fetches from an API.
  static func store(_ api: CommentsAPI) -> QueryStore<State> {
    .detached(
      query: DraftThreadQuery(),
      initialState: State(initialValue: Comment(nodeId: 0)),
      initialContext: .comments(api)
    )
  }
}
