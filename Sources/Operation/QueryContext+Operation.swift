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
}
