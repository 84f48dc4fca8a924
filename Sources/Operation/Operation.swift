/// The module `Query` under the names of the document "Utilizing the OperationContext":
/// `OperationStore` is `QueryStore`, `OperationContext` is `QueryContext`, and so for each public type
/// whose name begins with `Query`. `import Operation` brings both sets of names; they are the same
/// types, so code under one set works with code under the other. The kinds of requests keep their
/// names: `QueryRequest`, `InfiniteQueryRequest` and `MutationRequest`, and so does `QueryState`, the
/// state of the first.
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

/// A request in a modifier: `ModifiedQuery`.
public typealias ModifiedOperation = ModifiedQuery

/// A request whose stores a controller changes: `ControlledQuery`.
public typealias ControlledOperation<
  Operation: QueryRequest, Controller: QueryController<Operation.State>
> = ControlledQuery<Operation, Controller>

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

/// What has a path: `QueryPathable`.
public typealias OperationPathable = QueryPathable

/// Values by their paths: `QueryPathableCollection`.
public typealias OperationPathableCollection = QueryPathableCollection

/// What a store is doing, as its state tells it: `QueryStatus`.
public typealias OperationStatus = QueryStatus

/// Why a result came: `QueryResultUpdateReason`.
public typealias OperationResultUpdateReason = QueryResultUpdateReason

/// A store whose types are not known: `OpaqueQueryStore`.
public typealias OpaqueOperationStore = OpaqueQueryStore

/// The state of such a store: `OpaqueQueryState`.
public typealias OpaqueOperationState = OpaqueQueryState

/// Callbacks for the events of such a store: `OpaqueQueryEventHandler`.
public typealias OpaqueOperationEventHandler = OpaqueQueryEventHandler

// MARK: - Controllers

/// What pushes values and refetches into a store from outside: `QueryController`.
public typealias OperationController = QueryController

/// What a controller may do to its store: `QueryControls`.
public typealias OperationControls = QueryControls

// MARK: - Tasks

/// One fetch, scheduled but not started before it is run: `QueryTask`.
///
/// Written with the value alone, or with the value and the failure, as a continuation is.
public typealias OperationTask<Value: Sendable, each Failure> = QueryTask<Value>

/// The name, priority and executor of a fetch, a view onto its context: `QueryTaskConfiguration`.
public typealias OperationTaskConfiguration = QueryTaskConfiguration

/// What identifies a task: `QueryTaskIdentifier`.
public typealias OperationTaskIdentifier = QueryTaskIdentifier

/// What a warning says of a task: `QueryTaskInfo`.
public typealias OperationTaskInfo = QueryTaskInfo

/// What the library says of a mistake that it can go on with: `QueryWarning`.
public typealias OperationWarning = QueryWarning

/// A fetch took longer than it may: `QueryTimeoutError`.
public typealias OperationTimeoutError = QueryTimeoutError

/// A fetch kept a value that is not there: `QueryUnchangedError`.
public typealias OperationUnchangedError = QueryUnchangedError

/// A request was fetched from inside of its own fetch: `QueryCircularFetchError`.
public typealias OperationCircularFetchError = QueryCircularFetchError

// MARK: - Context

/// The typed values that a request sees: `QueryContext`.
public typealias OperationContext = QueryContext

/// The source of the library's dates: `QueryClock`.
public typealias OperationClock = QueryClock

/// How a retry waits: `QueryDelayer`.
public typealias OperationDelayer = QueryDelayer

/// How long each retry waits, in seconds by its number: `QueryBackoffFunction`.
public typealias OperationBackoffFunction = QueryBackoffFunction

/// What takes the library's messages: `QueryLogger`.
public typealias OperationLogger = QueryLogger

/// How much a message matters: `QueryLogLevel`.
public typealias OperationLogLevel = QueryLogLevel

// MARK: - Persistence

/// Where stores keep their values: `QueryStorage`.
public typealias OperationStorage = QueryStorage

/// How a value becomes bytes: `QueryCoder`.
public typealias OperationCoder = QueryCoder

/// What a stored value is found by: `QueryIdentity`.
public typealias OperationIdentity = QueryIdentity

/// Why a path has no identity: `QueryIdentityError`.
public typealias OperationIdentityError = QueryIdentityError
