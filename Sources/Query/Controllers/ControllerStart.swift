import Synchronization

/// Starts the controllers of new stores, or puts that off while a client's lock is held.
@usableFromInline
enum ControllerStart {
  /// The stores whose controllers are to be started later.
  final class Collector: Sendable {
    private let starts = Mutex([@Sendable () -> Void]())

    init() {}

    func append(_ start: @escaping @Sendable () -> Void) {
      self.starts.withLock { $0.append(start) }
    }

    func startAll() {
      let starts = self.starts.withLock { starts in
        defer { starts = [] }
        return starts
      }
      for start in starts { start() }
    }
  }

  @TaskLocal static var collector: Collector?
}

extension QueryStore {
  /// Hands the store to its controllers. Called once, when it is created.
  @usableFromInline
  func startControllers() {
    let (context, state) = self.withLock { (self._context, self._state) }
    let controllers = context.queryControllers
    guard !controllers.isEmpty else { return }
    if let collector = ControllerStart.collector {
      collector.append { [weak self] in self?.start(controllers, context, state) }
    } else {
      self.start(controllers, context, state)
    }
  }

  private func start(
    _ controllers: [any QueryController],
    _ context: QueryContext,
    _ state: State
  ) {
    let controls = QueryControls(store: self, initialContext: context, initialState: state)
    let subscriptions = controllers.compactMap { Self.start($0, with: controls) }
    self.withLock { self.controllerSubscription = .combined(subscriptions) }
  }

  /// - Returns: `nil` where the controller is one for another state.
  private static func start<C: QueryController>(
    _ controller: C,
    with controls: QueryControls<State>
  ) -> QuerySubscription? {
    (controls as? QueryControls<C.State>).map { controller.control(with: $0) }
  }
}
