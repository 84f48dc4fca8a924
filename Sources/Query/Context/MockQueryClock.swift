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
/// `context.queryClock = clock` gives the dates of states the same time.
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
  }

  private let start: Date
  private let guarded = Locked(Guarded())

  /// Creates a clock.
  ///
  /// - Parameter date: What it shows; 2001-01-01 00:00 UTC by default.
  public init(startingAt date: Date = Date(timeIntervalSinceReferenceDate: 0)) {
    self.start = date
  }

  public func now() -> Date { self.start + self.elapsed.seconds }

  /// Moves the clock, and lets everything go on whose time has come.
  ///
  /// - Parameter duration: By how much; not negative.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "time does not go back")
    let due = self.guarded.withLock { clock in
      clock.elapsed += duration
      let elapsed = clock.elapsed
      let due = clock.sleepers.filter { $0.time <= elapsed }
      clock.sleepers.removeAll { $0.time <= elapsed }
      return due
    }
    for sleeper in due { sleeper.continuation.resume(returning: true) }
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
    let id = self.guarded.withLock { clock in
      clock.lastID += 1
      return clock.lastID
    }
    let hasSlept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let known = self.guarded.withLock { clock -> Bool? in
          if Task.isCancelled { return false }
          if time <= clock.elapsed { return true }
          clock.sleepers.append(Sleeper(id: id, time: time, continuation: continuation))
          return nil
        }
        if let known { continuation.resume(returning: known) }
      }
    } onCancel: {
      self.guarded.withLock { clock in
        clock.sleepers.firstIndex { $0.id == id }.map { clock.sleepers.remove(at: $0) }
      }?.continuation.resume(returning: false)
    }
    if !hasSlept { throw CancellationError() }
  }
}
