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
  ///   - isSuspended: Whether nobody reads before it is resumed.
  ///   - open: Opens a connection, on the thread that needs it. ``tryRead(_:)`` waits for it to
  ///     return.
  init(
    capacity: Int, isSuspended: Bool = false,
    open: @escaping @Sendable () throws -> SQLiteConnection
  ) {
    precondition(capacity > 0, "a pool has room for a connection")
    self.open = open
    self.state = Locked(State(capacity: capacity, isSuspended ? .suspended : .open))
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
      waiter?.continuation.resume(throwing: CancellationError())
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
    try await withCheckedThrowingContinuation { continuation in
      let waiter = Waiter(continuation)
      let known = self.state.withLock { state -> Result<Turn, any Error>? in
        if state.phase == .closed { return .failure(Self.closedError) }
        // Cancelled before the waiter is in the queue: then nothing else will resume it.
        if Task.isCancelled { return .failure(CancellationError()) }
        if let turn = state.takeTurn() { return .success(turn) }
        state.waiters.add(waiter, ticket)
        return nil
      }
      if let known { continuation.resume(with: known) }
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
    case .next(let waiter): waiter.continuation.resume(returning: turn)
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
    for waiter in waiters { waiter.continuation.resume(returning: Turn(reader: nil)) }
  }

  private func stop(_ phase: State.Phase) {
    let closer = DispatchSemaphore(value: 0)
    let (idle, waiters, mustWait) = self.state.withLock { $0.stop(phase, closer) }
    for waiter in waiters { waiter.continuation.resume(throwing: Self.closedError) }
    for reader in idle { _ = reader.closed() }
    if mustWait { closer.wait() }
  }
}

extension ReaderPool {
  /// A connection of the pool.
  // @unchecked: the thread that took it out of the pool's state, under its lock, is the only one to
  // use the connection until it is put back. SQLite's connections are not bound to a thread.
  final class Reader: @unchecked Sendable {
    let connection: SQLiteConnection

    init(connection: SQLiteConnection) { self.connection = connection }

    /// Whether it is open, and in no transaction, neither an explicit one nor that of a statement.
    var isIdle: Bool {
      guard let handle = try? self.connection.handle(for: "read") else { return false }
      return sqlite3_txn_state(handle, nil) == SQLITE_TXN_NONE
    }

    /// Closes the connection.
    ///
    /// - Returns: nil, to take the reader's place.
    func closed() -> Reader? {
      // If a statement is in use, the connection is closed when it is released.
      try? self.connection.close()
      return nil
    }
  }

  /// The right to use one connection: an open one, or one yet to be opened.
  struct Turn: Sendable {
    let reader: Reader?
  }

  /// A caller that waits for a turn.
  // An object: the layout of a continuation is known at run time alone, and a launch would have to ask for it.
  final class Waiter: Sendable {
    let continuation: CheckedContinuation<Turn, any Error>

    init(_ continuation: CheckedContinuation<Turn, any Error>) { self.continuation = continuation }
  }

  /// The callers that wait for a turn, in the order in which they came.
  struct Waiters {
    private var waiters = [Int: Waiter]()
    /// No ticket below this one is waiting.
    private var first = 0
    private var next = 0

    var count: Int { self.waiters.count }

    /// A place in the queue, for a caller to take or leave.
    mutating func takeTicket() -> Int {
      defer { self.next += 1 }
      return self.next
    }

    mutating func add(_ waiter: Waiter, _ ticket: Int) {
      self.first = self.waiters.isEmpty ? ticket : min(self.first, ticket)
      self.waiters[ticket] = waiter
    }

    mutating func remove(_ ticket: Int) -> Waiter? { self.waiters.removeValue(forKey: ticket) }

    mutating func popFirst() -> Waiter? {
      while !self.waiters.isEmpty {
        defer { self.first += 1 }
        if let waiter = self.waiters.removeValue(forKey: self.first) { return waiter }
      }
      return nil
    }

    mutating func removeAll() -> [Waiter] {
      defer { self.waiters = [:] }
      return self.waiters.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  /// The connections, and the callers that wait for them. While the pool is open, no caller waits
  /// if a turn is free.
  struct State {
    /// Whether the pool can be used.
    enum Phase {
      case open
      case suspended
      case closed
    }

    /// What to do with a turn that ended.
    enum End {
      case done
      /// This waiter has it now.
      case next(Waiter)
      /// Close its connection, and then end the turn without it.
      case unwanted
      /// These closers may go on.
      case last([DispatchSemaphore])
    }

    let capacity: Int
    private(set) var phase: Phase
    private var idle = [Reader]()
    /// How many turns are taken.
    private var taken = 0
    var waiters = Waiters()
    private var closers = [DispatchSemaphore]()

    init(capacity: Int, _ phase: Phase = .open) {
      self.capacity = capacity
      self.phase = phase
      self.idle.reserveCapacity(capacity)
    }

    mutating func takeTurn() -> Turn? {
      guard self.phase == .open, self.taken < self.capacity else { return nil }
      self.taken += 1
      return Turn(reader: self.idle.popLast())
    }

    /// Ends a turn if no caller waits for its connection.
    ///
    /// - Returns: Whether it has ended.
    mutating func putBack(_ reader: Reader) -> Bool {
      guard self.phase == .open, self.waiters.count == 0 else { return false }
      self.taken -= 1
      self.idle.append(reader)
      return true
    }

    mutating func end(_ turn: Turn) -> End {
      if self.phase != .open {
        if turn.reader != nil { return .unwanted }
        self.taken -= 1
        guard self.taken == 0 else { return .done }
        defer { self.closers = [] }
        return .last(self.closers)
      }
      if let waiter = self.waiters.popFirst() { return .next(waiter) }
      self.taken -= 1
      if let reader = turn.reader { self.idle.append(reader) }
      return .done
    }

    /// - Returns: The connections to close, the waiters to resume, and whether the closer must
    ///   wait.
    mutating func stop(
      _ phase: Phase,
      _ closer: DispatchSemaphore
    ) -> (idle: [Reader], waiters: [Waiter], mustWait: Bool) {
      if self.phase != .closed { self.phase = phase }
      let idle = self.idle
      self.idle = []
      if self.taken > 0 { self.closers.append(closer) }
      return (idle, phase == .closed ? self.waiters.removeAll() : [], self.taken > 0)
    }

    /// - Returns: The waiters that have a turn now.
    mutating func reopen() -> [Waiter] {
      self.phase = .open
      self.idle.reserveCapacity(self.capacity)
      var waiters = [Waiter]()
      while self.taken < self.capacity, let waiter = self.waiters.popFirst() {
        self.taken += 1
        waiters.append(waiter)
      }
      return waiters
    }
  }
}
