public import FoundationEssentials

/// A clock for tests that stands still until the test moves it: that of a context, of a storage's
/// outbox and of a replayer, so that an hour's wait takes no time.
///
/// ```swift
/// let clock = MockQueryClock()
/// let storage = MemoryQueryStorage(clock: clock)
/// let replayer = MutationReplayer(client: client, configuration: .init(clock: clock))
/// try await store.enqueue(with: note, after: .seconds(3_600))
/// clock.advance(by: .seconds(3_600))
/// ```
/// With `context.queryClock = clock`, the dates of states go by it, and so do all waits of the context's
/// queries and mutations: those between attempts, unless the context has a delayer of its own, those of
/// `refetch(every:)`, `timeout(after:)` and `evict(afterUnused:)`, and the time limit of an attempt.
public final class MockQueryClock: QueryClock {
  private struct Sleeper {
    let id: Int
    let time: Duration
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct Guarded {
    var elapsed = Duration.zero
    var lastID = 0
    var sleepers = [Sleeper]()
    var observers = [Observer]()
  }

  /// By how much the difference of two dates may be too short: a `Date` of today is exact to a tenth of a
  /// microsecond.
  private static let rounding = Duration.microseconds(1)

  /// Waits until there is a sleeper until this time, or an earlier one; nil: any sleeper.
  private struct Observer {
    let id: Int
    let time: Duration?
    let continuation: CheckedContinuation<Void, Never>

    func isAbout(_ sleeper: Sleeper) -> Bool {
      self.time.map { sleeper.time <= $0 + MockQueryClock.rounding } ?? true
    }
  }

  let start: Date
  private let guarded = Locked(Guarded())
  /// What schedules the turns of stores by it, made by the first that asks.
  let turns = Locked<(any AnyObject & Sendable)?>(nil)

  /// Creates a clock.
  ///
  /// - Parameter date: What it shows; 2001-01-01 00:00 UTC by default.
  public init(startingAt date: Date = Date(timeIntervalSinceReferenceDate: 0)) {
    self.start = date
  }

  public func now() -> Date { self.start + self.elapsed.seconds }

  /// Moves the clock, and lets everything go on whose time has come.
  ///
  /// - Parameter duration: By how much; not negative. The difference of two dates may be a hair short of the
  ///   wait it was meant for: up to a microsecond, the clock moves on to its end.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "time does not go back")
    let due = self.guarded.withLock { clock in
      clock.elapsed += duration
      let limit = clock.elapsed + Self.rounding
      let due = clock.sleepers.filter { $0.time <= limit }
      clock.sleepers.removeAll { $0.time <= limit }
      clock.elapsed = due.map(\.time).reduce(clock.elapsed, max)
      return due
    }
    for sleeper in due { sleeper.continuation.resume(returning: true) }
  }

  /// Waits until a task waits by this clock, which may be about to begin that: moved before, the clock
  /// would not end its wait. It also returns if the current task is cancelled.
  ///
  /// - Parameter duration: How long its wait may be from now; nil: any.
  public func sleeper(within duration: Duration? = nil) async {
    let id = self.nextID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = self.guarded.withLock { clock in
          let observer = Observer(
            id: id, time: duration.map { clock.elapsed + $0 }, continuation: continuation)
          if Task.isCancelled || clock.sleepers.contains(where: { observer.isAbout($0) }) {
            return false
          }
          clock.observers.append(observer)
          return true
        }
        if !isWaiting { continuation.resume() }
      }
    } onCancel: {
      self.guarded.withLock { clock in
        clock.observers.firstIndex { $0.id == id }.map { clock.observers.remove(at: $0) }
      }?.continuation.resume()
    }
  }

  private func nextID() -> Int {
    self.guarded.withLock { clock in
      clock.lastID += 1
      return clock.lastID
    }
  }
}

// MARK: - For contexts

extension MockQueryClock {
  /// Waits until the clock was moved by so much.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func sleep(for duration: Duration) async throws {
    try await self.sleep(until: self.elapsed + duration)
  }
}

extension QueryContext {
  /// The clock of a test, if the context has one.
  package var mockClock: MockQueryClock? { self.queryClock as? MockQueryClock }

  /// Waits by a test's clock if the context has one, else by the continuous clock.
  var sleep: @Sendable (Duration) async throws -> Void {
    if let clock = self.mockClock { return { try await clock.sleep(for: $0) } }
    return { try await ContinuousClock().sleep(for: $0) }
  }
}

// MARK: - For outboxes and replayers

extension MockQueryClock {
  /// The time that has passed since it was made.
  package var elapsed: Duration { self.guarded.withLock { $0.elapsed } }

  /// Waits until that time has passed.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package func sleep(until time: Duration) async throws {
    let id = self.nextID()
    let hasSlept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (known, observers) = self.guarded.withLock { clock -> (Bool?, [Observer]) in
          if Task.isCancelled { return (false, []) }
          if time <= clock.elapsed { return (true, []) }
          let sleeper = Sleeper(id: id, time: time, continuation: continuation)
          clock.sleepers.append(sleeper)
          let observers = clock.observers.filter { $0.isAbout(sleeper) }
          clock.observers.removeAll { $0.isAbout(sleeper) }
          return (nil, observers)
        }
        if let known { continuation.resume(returning: known) }
        for observer in observers { observer.continuation.resume() }
      }
    } onCancel: {
      self.guarded.withLock { clock in
        clock.sleepers.firstIndex { $0.id == id }.map { clock.sleepers.remove(at: $0) }
      }?.continuation.resume(returning: false)
    }
    if !hasSlept { throw CancellationError() }
  }
}
