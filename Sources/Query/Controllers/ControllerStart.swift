import Glibc

/// Starts the controllers of new stores, or puts that off while a client's lock is held.
enum ControllerStart {
  /// The controllers that one thread has to start later.
  private final class Collector {
    var starts = [() -> Void]()
  }

  // The thread's rather than the task's: a task that is started under the lock inherits the values
  // of the task, but goes on without the lock.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = pthread_key_create(&key, nil)
    precondition(error == 0, "The process has no room for another thread-specific value.")
    return key
  }()

  private static var collector: Collector? {
    pthread_getspecific(self.key)
      .map { Unmanaged<Collector>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Runs a closure, and starts the controllers of the stores that it created on this thread when
  /// the outermost such call has ended.
  static func deferred<T>(_ body: () throws -> T) rethrows -> T {
    guard self.collector == nil else { return try body() }
    let collector = Collector()
    pthread_setspecific(self.key, Unmanaged.passUnretained(collector).toOpaque())
    defer {
      pthread_setspecific(self.key, nil)
      for start in collector.starts { start() }
    }
    return try body()
  }

  /// Whether this thread is inside ``deferred(_:)``.
  static var isDeferring: Bool { self.collector != nil }

  /// Defers a start if this thread is inside ``deferred(_:)``.
  ///
  /// - Returns: Whether it did.
  static func isDeferred(_ start: @escaping () -> Void) -> Bool {
    guard let collector = self.collector else { return false }
    collector.starts.append(start)
    return true
  }
}

extension QueryStore {
  /// Passes the store to its controllers. Called once, when it is created.
  @usableFromInline
  func startControllers() {
    let controllers = self.withLock { self._context.queryControllers }
    if !controllers.isEmpty { self.startOrDefer(controllers) }
  }

  // Not inlined: the type of what is read under the lock would be looked up for a store without controllers,
  // too.
  @inline(never)
  private func startOrDefer(_ controllers: [any QueryController]) {
    let (context, state) = self.withLock { (self._context, self.visibleState) }
    // Asked first: the closure and the weak reference in it are two objects, which few stores need.
    guard ControllerStart.isDeferring,
      ControllerStart.isDeferred({ [weak self] in self?.start(controllers, context, state) })
    else { return self.start(controllers, context, state) }
  }

  /// Ends the work of the controllers of a store that was not handed out.
  @usableFromInline
  func endControllers() {
    self.withLock { self.controllerSubscription }.cancel()
  }

  private func start(
    _ controllers: [any QueryController],
    _ context: QueryContext,
    _ state: State
  ) {
    let controls = QueryControls(store: self, initialContext: context, initialState: state)
    let subscriptions = controllers.compactMap { Self.start($0, with: controls) }
    self.keep(subscriptions)
  }

  /// - Returns: `nil` if the controller is for another state type.
  private static func start<C: QueryController>(
    _ controller: C,
    with controls: QueryControls<State>
  ) -> QuerySubscription? {
    // Not `as?`, which takes longer than all else here.
    guard C.State.self == State.self else { return nil }
    return controller.control(with: unsafeBitCast(controls, to: QueryControls<C.State>.self))
  }
}
