import CSQLite
import Dispatch
import Query

/// A few connections that read one file, for any thread. Each is opened by the first caller that
/// needs it.
///
/// ```swift
/// let pool = ReaderPool(capacity: 2) { try opener.openReader() }
/// let row = try pool.tryRead { try $0.read { … } }  // nil if all are taken
/// let later = try await pool.read { try $0.read { … } }  // waits its turn
/// ```
/// Between two uses a connection holds no lock and no snapshot: if a closure leaves one behind, the
/// connection is closed.
final class ReaderPool: Sendable {
  private let open: @Sendable () throws -> SQLiteConnection

  // No caller's closure runs under this lock, and no connection is opened or closed under it.
  private let state: Locked<State>

  /// Makes a pool without connections.
  ///
  /// - Parameters:
  ///   - capacity: The maximum number of connections.
  ///   - open: Opens a connection, on the thread that needs it. ``tryRead(_:)`` waits for it to
  ///     return.
  init(capacity: Int, open: @escaping @Sendable () throws -> SQLiteConnection) {
    precondition(capacity > 0, "a pool has room for a connection")
    self.open = open
    self.state = Locked(State(capacity: capacity))
  }
}

// MARK: - Reading

extension ReaderPool {
  /// Passes a connection to a closure, if one is free.
  ///
  /// - Returns: What the closure returns; nil if all connections are taken, or the pool is
  ///   suspended or closed.
  /// - Throws: The errors of opening a connection and of the closure. After a `StorageError` other
  ///   than busy, locked and interrupted, the connection is not used again.
  func tryRead<R>(_ body: (SQLiteConnection) throws -> R) throws -> R? {
    guard let turn = self.state.withLock({ $0.takeTurn() }) else { return nil }
    return try self.run(turn, body)
  }

  /// Waits for a connection, first come, first served, and passes it to a closure on a thread that
  /// may block. It also waits while the pool is suspended.
  ///
  /// - Returns: What the closure returns.
  /// - Throws: As ``tryRead(_:)``; `StorageError` (misuse) if the pool is closed;
  ///   `CancellationError` if the task is cancelled before its turn.
  func read<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> R
  ) async throws -> R {
    let ticket = self.state.withLock { $0.waiters.takeTicket() }
    let turn = try await withTaskCancellationHandler {
      try await self.turn(for: ticket)
    } onCancel: {
      let waiter = self.state.withLock { $0.waiters.remove(ticket) }
      waiter?.resume(throwing: CancellationError())
    }
    if Task.isCancelled {
      self.end(turn)
      throw CancellationError()
    }
    return try await withCheckedThrowingContinuation { continuation in
      // A serial queue gets a thread as soon as it needs one. The global queues have only as many
      // as there are processors, tasks run on them too, and if all are blocked it takes a second
      // until there is another one.
      DispatchQueue(label: "reader of a storage").async {
        continuation.resume(with: Result { try self.run(turn, body) })
      }
    }
  }

  /// How many callers wait for a connection.
  var waiterCount: Int { self.state.withLock { $0.waiters.count } }

  private func turn(for ticket: Int) async throws -> Turn {
    try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Turn, any Error>) in
      let known = self.state.withLock { state -> Result<Turn, any Error>? in
        if state.phase == .closed { return .failure(Self.closedError) }
        // Cancelled before the waiter is in the queue: then nothing else will resume it.
        if Task.isCancelled { return .failure(CancellationError()) }
        if let turn = state.takeTurn() { return .success(turn) }
        state.waiters.add(waiter, ticket)
        return nil
      }
      if let known { waiter.resume(with: known) }
    }
  }

  private static var closedError: StorageError {
    StorageError(operation: "read", code: .misuse, message: "the storage is closed")
  }

  private func run<R>(_ turn: Turn, _ body: (SQLiteConnection) throws -> R) throws -> R {
    let reader: Reader
    do {
      reader = try turn.reader ?? Reader(connection: self.open())
    } catch {
      self.end(Turn(reader: nil))
      throw error
    }
    do {
      let result = try body(reader.connection)
      self.giveBack(reader, isGood: reader.isIdle)
      return result
    } catch {
      self.giveBack(reader, isGood: reader.isIdle && Self.isHarmless(error))
      throw error
    }
  }

  private func giveBack(_ reader: Reader, isGood: Bool) {
    // Nearly every read ends here; the general case costs half as much again.
    if isGood && self.state.withLock({ $0.putBack(reader) }) { return }
    self.end(Turn(reader: isGood ? reader : reader.closed()))
  }

  /// Whether an error tells nothing about the connection's condition.
  private static func isHarmless(_ error: any Error) -> Bool {
    guard let error = error as? StorageError else { return true }
    switch error.code {
    case .busy, .locked, .interrupted: return true
    default: return false
    }
  }

  /// Passes a turn on to the caller that has waited longest, or gives its connection back.
  private func end(_ turn: Turn) {
    switch self.state.withLock({ $0.end(turn) }) {
    case .done: break
    case .next(let waiter): waiter.resume(returning: turn)
    case .unwanted:
      // A caller that closes the pool waits until this one is closed.
      self.end(Turn(reader: turn.reader?.closed()))
    case .last(let closers):
      for closer in closers { closer.signal() }
    }
  }
}

// MARK: - Closing

extension ReaderPool {
  /// Lets no new read begin, waits on this thread for the running ones, and closes all connections.
  /// Waiting callers stay in the queue until ``reopen()`` or ``close()``. Not called while reading.
  func suspend() { self.stop(.suspended) }

  /// Like ``suspend()``, but for good: waiting and later callers get the error that the storage is
  /// closed.
  func close() { self.stop(.closed) }

  /// Makes the pool usable again, after ``suspend()`` or ``close()`` has returned, when the file
  /// was replaced.
  func reopen() {
    let waiters = self.state.withLock { $0.reopen() }
    for waiter in waiters { waiter.resume(returning: Turn(reader: nil)) }
  }

  private func stop(_ phase: State.Phase) {
    let closer = DispatchSemaphore(value: 0)
    let (idle, waiters, mustWait) = self.state.withLock { $0.stop(phase, closer) }
    for waiter in waiters { waiter.resume(throwing: Self.closedError) }
    for reader in idle { _ = reader.closed() }
    if mustWait { closer.wait() }
  }
}
