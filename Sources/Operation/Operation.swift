/// The module `Query` under the names of its newest documents: `OperationStore` is `QueryStore`,
/// `OperationContext` is `QueryContext`, and so on. `import Operation` brings both sets of names;
/// they are the same types, so code under one set works with code under the other. Requests keep
/// their names: `QueryRequest`, `InfiniteQueryRequest` and `MutationRequest`.
@_exported public import Query

// MARK: - Requests

/// What every request conforms to: `QueryRequest`.
public typealias OperationRequest = QueryRequest

/// A wrapper around a request that edits its context or its fetches: `QueryModifier`.
public typealias OperationModifier = QueryModifier

/// What a fetch yields results through before it returns: `QueryContinuation`.
///
/// Written with the value alone, or with the value and the failure. The failures are only spelled:
/// every continuation takes `any Error`.
public typealias OperationContinuation<Value: Sendable, each Failure> = QueryContinuation<Value>

// MARK: - Stores

/// The runtime of one request: `QueryStore`.
public typealias OperationStore = QueryStore

/// The stores of an application, by their paths: `QueryClient`.
public typealias OperationClient = QueryClient

/// What a store's state conforms to: `QueryStateProtocol`.
///
/// `QueryState`, the state of a plain query, keeps its name.
public typealias OperationState = QueryStateProtocol

/// What identifies a store within its client: `QueryPath`.
public typealias OperationPath = QueryPath

/// Callbacks for a store's events: `QueryEventHandler`.
public typealias OperationEventHandler = QueryEventHandler

/// A subscription, which ends when it is cancelled or released: `QuerySubscription`.
public typealias OperationSubscription = QuerySubscription

// MARK: - Controllers

/// What pushes values and refetches into a store from outside: `QueryController`.
public typealias OperationController = QueryController

/// What a controller may do to its store: `QueryControls`.
public typealias OperationControls = QueryControls

// MARK: - Tasks

/// One fetch, scheduled but not started before it is run: `QueryTask`.
public typealias OperationTask = QueryTask

/// The name, priority and executor of a fetch, a view onto its context: `QueryTaskConfiguration`.
public typealias OperationTaskConfiguration = QueryTaskConfiguration

// MARK: - Context

/// The typed values that a request sees: `QueryContext`.
public typealias OperationContext = QueryContext

/// The source of the library's dates: `QueryClock`.
public typealias OperationClock = QueryClock

/// How a retry waits: `QueryDelayer`.
public typealias OperationDelayer = QueryDelayer

/// How long each retry waits, in seconds by its number: `QueryBackoffFunction`.
public typealias OperationBackoffFunction = QueryBackoffFunction
