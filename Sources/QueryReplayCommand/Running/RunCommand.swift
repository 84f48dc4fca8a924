import Foundation
import Query
import QueryReplay
import SystemNetwork
import ToolSupport

/// `run --once` and `run --watch`: sends, and reports what happens, until it is done or the user
/// ends it.
///
/// One task prints and decides; the others only report to it. Whatever ends the run, attempts are
/// cancelled and their leases given back before it returns.
struct RunCommand {
  let session: ReplaySession
  private let registerLater: ReplayTool.LaterRegistration?

  /// - Parameters:
  ///   - session: The store.
  ///   - registerLater: Registers what can be sent of what has come since.
  init(_ session: ReplaySession, registeringLater registerLater: ReplayTool.LaterRegistration?) {
    (self.session, self.registerLater) = (session, registerLater)
  }

  /// What other tasks report to the printing task.
  private enum Happening: Sendable {
    case event(ReplayEvent)
    case counts(OutboxCounts)
    case signal
    case deadline
    case ended(Result<ReplaySummary?, any Error>)
  }

  private struct Outcome {
    var summary: ReplaySummary?
    var isInterrupted = false
  }

  /// Runs.
  ///
  /// - Throws: `UsageError`; `StorageError`; what printing throws, after the leases were given
  ///   back.
  func run() async throws -> ExitCode {
    let command = self.session.invocation.command
    let isOnce = command.has(RunOption.once)
    guard isOnce != command.has(RunOption.watch) else {
      throw command.usageError("give --once or --watch")
    }
    var report = RunReport(self.session, isOnce: isOnce)
    let outcome = try await self.send(isOnce: isOnce, &report)
    let live = try self.session.outbox.entries().filter { $0.state != .dead }
    try report.end(outcome.summary, others: OtherRows(live, self.session))
    if !isOnce { return .success }
    if outcome.isInterrupted { return .interrupted }
    return self.code(live, outcome.summary ?? ReplaySummary())
  }

  /// The exit code of a run that was not interrupted.
  private func code(_ live: [OutboxEntry], _ summary: ReplaySummary) -> ExitCode {
    // Before the rest: it is the one end that no later turn changes.
    if summary.dead > 0 { return .died }
    let lane = self.session.invocation.command.text(RunOption.lane)
    let meant = live.filter { lane == nil || $0.lane == lane }
    if meant.contains(where: { self.session.canSend($0) }) {
      return self.session.network.currentStatus < .connected ? .unavailable : .workRemains
    }
    let isIdle = summary.succeeded + summary.failed + summary.dead == 0
    return isIdle && !meant.isEmpty ? .unavailable : .success
  }
}

// MARK: - Running

extension RunCommand {
  private func send(isOnce: Bool, _ report: inout RunReport) async throws -> Outcome {
    let (happenings, tell) = AsyncStream.makeStream(of: Happening.self)
    let replayer = self.session.replayer
    let deadline = self.session.invocation.command.duration(RunOption.deadline)
    let events = replayer.events
    let signals = EndSignals()
    let run = Task {
      do {
        if isOnce {
          tell.yield(.ended(.success(try await replayer.replayOnce(deadline: deadline))))
        } else {
          try await replayer.run()
          tell.yield(.ended(.success(nil)))
        }
      } catch {
        tell.yield(.ended(.failure(error)))
      }
    }
    var listeners = Self.listen(
      to: events, self.session.outbox, signals, deadline: isOnce ? nil : deadline, tell)
    if let registerLater, !isOnce { listeners.append(self.registering(by: registerLater)) }
    defer { for listener in listeners { listener.cancel() } }
    do {
      return try await self.follow(happenings, run, &report)
    } catch {
      // The reader of the output may have gone: send nothing more, and leave nothing leased.
      run.cancel()
      await run.value
      throw error
    }
  }

  /// Registers what comes while it watches, at most once a second, since that looks at all that waits.
  private func registering(
    by registerLater: @escaping ReplayTool.LaterRegistration
  ) -> Task<Void, Never> {
    let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let subscription = self.session.outbox.subscribe { event in
      switch event {
      case .enqueued, .changedByAnotherProcess: tell.yield()
      default: break
      }
    }
    // Something may have come since the first registration.
    tell.yield()
    return Task {
      defer { subscription.cancel() }
      for await _ in news {
        // A store that cannot be read now is read after its next change.
        try? registerLater()
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
      }
    }
  }

  private static func listen(
    to events: some AsyncSequence<ReplayEvent, Never> & Sendable,
    _ outbox: any MutationOutbox,
    _ signals: EndSignals,
    deadline: Duration?,
    _ tell: AsyncStream<Happening>.Continuation
  ) -> [Task<Void, Never>] {
    [
      Task { for await event in events { tell.yield(.event(event)) } },
      Task { for await counts in outbox.changes { tell.yield(.counts(counts)) } },
      Task { for await _ in signals.stream { tell.yield(.signal) } },
      Task {
        guard let deadline, (try? await Task.sleep(for: deadline)) != nil else { return }
        tell.yield(.deadline)
      },
    ]
  }

  private func follow(
    _ happenings: AsyncStream<Happening>, _ run: Task<Void, Never>, _ report: inout RunReport
  ) async throws -> Outcome {
    var outcome = Outcome()
    for await happening in happenings {
      switch happening {
      case .event(let event): try report.note(event)
      case .counts(let counts): try report.note(counts)
      case .deadline: run.cancel()
      case .signal:
        // A second signal is for handlers that do not end.
        if outcome.isInterrupted { throw ExitCode.interrupted }
        outcome.isInterrupted = true
        run.cancel()
      case .ended(.success(let summary)):
        // A run that ended just before the signal came was not interrupted.
        outcome.isInterrupted = false
        outcome.summary = summary
        return outcome
      case .ended(.failure(let error)):
        if error is CancellationError { return outcome }
        throw error
      }
    }
    return outcome
  }
}
