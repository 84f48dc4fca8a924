public import Query

extension QueryContext {
  /// The client that made the store: ``QueryContext/queryClient``. Setting it holds it strongly.
  public var operationClient: QueryClient? {
    get { self.queryClient }
    set { self.queryClient = newValue }
  }

  /// The source of the dates: ``QueryContext/queryClock``.
  public var operationClock: any QueryClock {
    get { self.queryClock }
    set { self.queryClock = newValue }
  }

  /// How a retry waits: ``QueryContext/queryDelayer``.
  public var operationDelayer: any QueryDelayer {
    get { self.queryDelayer }
    set { self.queryDelayer = newValue }
  }

  /// How long each retry waits: ``QueryContext/queryBackoffFunction``.
  public var operationBackoffFunction: QueryBackoffFunction {
    get { self.queryBackoffFunction }
    set { self.queryBackoffFunction = newValue }
  }

  /// The controllers of a store made with this context: ``QueryContext/queryControllers``.
  public var operationControllers: [any QueryController] {
    get { self.queryControllers }
    set { self.queryControllers = newValue }
  }

  /// The name, priority and executor of a fetch: ``QueryContext/queryTaskConfiguration``.
  public var operationTaskConfiguration: QueryTaskConfiguration {
    get { self.queryTaskConfiguration }
    set { self.queryTaskConfiguration = newValue }
  }

  /// The task that runs, inside of one: ``QueryContext/queryRunningTaskIdentifier``.
  public var operationRunningTaskIdentifier: QueryTaskIdentifier? {
    self.queryRunningTaskIdentifier
  }

  /// Why a result came: ``QueryContext/queryResultUpdateReason``.
  public var operationResultUpdateReason: QueryResultUpdateReason? {
    get { self.queryResultUpdateReason }
    set { self.queryResultUpdateReason = newValue }
  }

  /// What takes messages: ``QueryContext/queryLogger``.
  public var operationLogger: any QueryLogger {
    get { self.queryLogger }
    set { self.queryLogger = newValue }
  }

  /// Where values are kept: ``QueryContext/queryStorage``.
  public var operationStorage: (any QueryStorage)? {
    get { self.queryStorage }
    set { self.queryStorage = newValue }
  }

  /// The store that fetches: ``QueryContext/currentFetchingQueryStore``.
  public var runningOperationStore: OpaqueQueryStore? {
    get { self.currentFetchingQueryStore }
    set { self.currentFetchingQueryStore = newValue }
  }
}
