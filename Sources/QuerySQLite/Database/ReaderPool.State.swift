import CSQLite
import Dispatch

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

  typealias Waiter = CheckedContinuation<Turn, any Error>

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
    private(set) var phase = Phase.open
    private var idle = [Reader]()
    /// How many turns are taken.
    private var taken = 0
    var waiters = Waiters()
    private var closers = [DispatchSemaphore]()

    init(capacity: Int) {
      self.capacity = capacity
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
