import CGIO
import Foundation
import Query

/// GIO's monitor, and the thread that it lives on.
///
/// Only that thread creates, uses and frees GIO objects; other threads hand it a closure and wake
/// it.
final class MonitorThread: StatusMonitor {
  /// The thread's name, as the kernel shows it.
  static let name = "query-network"

  typealias Job = @Sendable (NetworkMonitor) -> Void

  /// Guarded by the mutex.
  private struct State {
    var statuses: StatusList?
    var jobs = [Job]()
    var isStopped = false
    /// Whether GIO has given its first status.
    var isFollowing = false
  }

  let costs = ObserverList(false)

  private let context = MainContext()
  private let state = Locked(State())
  private let hasStatus = DispatchSemaphore(value: 0)

  /// How long a caller waits for the first status: GIO asks a service for it, and the service may be
  /// silent for ever.
  private static let patience = DispatchTimeInterval.milliseconds(500)

  /// Starts a thread, which keeps the object until it is stopped.
  static func start() -> MonitorThread {
    let monitor = MonitorThread()
    let own = Unmanaged.passRetained(monitor)
    // GLib's thread rather than Foundation's, whose name does not always reach the kernel.
    if let thread = g_thread_try_new(Self.name, monitorThread, own.toOpaque(), nil) {
      g_thread_unref(thread)
    } else {
      own.release()
      monitor.goOnWithoutThread()
    }
    return monitor
  }

  /// The system has no thread left. The status is a hint: the network is tried as if there were one.
  private func goOnWithoutThread() {
    self.state.withLock { $0.isStopped = true }
    _ = self.statuses(orElse: .connected)
    self.hasStatus.signal()
  }

  var statuses: StatusList {
    if let statuses = self.state.withLock({ $0.statuses }) { return statuses }
    // Each waiter that is let through lets the next one through.
    _ = self.hasStatus.wait(timeout: .now() + Self.patience)
    self.hasStatus.signal()
    // The status is a hint: without an answer the network is tried, and the answer corrects it.
    return self.statuses(orElse: .connected)
  }

  /// The statuses, which begin with this one if there are none yet.
  private func statuses(orElse status: NetworkConnectionStatus) -> StatusList {
    self.state.withLock { state in
      let statuses = state.statuses ?? StatusList(status)
      state.statuses = statuses
      return statuses
    }
  }

  func stop() {
    self.state.withLock { $0.isStopped = true }
    self.context.wakeUp()
  }

  func reachability(of url: URL) async -> NetworkReachability {
    let question = ReachabilityQuestion(url)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        question.expect { continuation.resume(returning: $0) }
        if !self.perform({ question.ask($0) }) { question.giveUp() }
      }
    } onCancel: {
      // The thread may wait for a service that does not answer. Otherwise GIO ends the question.
      if !self.state.withLock({ $0.isFollowing }) { question.giveUp() }
      self.perform { _ in question.cancel() }
    }
  }

  /// Lets the thread run a closure, unless it ends before.
  ///
  /// - Returns: Whether there is a thread that has not ended.
  @discardableResult
  private func perform(_ job: @escaping Job) -> Bool {
    let isStopped = self.state.withLock { state in
      if !state.isStopped { state.jobs.append(job) }
      return state.isStopped
    }
    if isStopped { return false }
    self.context.wakeUp()
    return true
  }

  fileprivate func run() {
    self.context.asThreadDefault { self.follow() }
  }

  private func follow() {
    var monitor = NetworkMonitor()
    let links = monitor.isOfKernel ? LinkWatch(context: self.context) : nil
    let status = monitor.status
    let statuses = self.statuses(orElse: status)
    self.costs.send(monitor.isMetered, where: !=)
    self.state.withLock { $0.isFollowing = true }
    self.hasStatus.signal()
    statuses.send(status)
    while let jobs = self.takeJobs() {
      for job in jobs { job(monitor) }
      self.context.iterate()
      if links?.takeDue() == true { monitor = NetworkMonitor() }
      // The monitor changes only while its context is iterated, so its signals would add nothing.
      // No handler runs inside GLib.
      self.costs.send(monitor.isMetered, where: !=)
      statuses.send(monitor.status)
    }
  }

  /// - Returns: What to do before the next wait; `nil` at the end.
  private func takeJobs() -> [Job]? {
    self.state.withLock { state in
      defer { state.jobs = [] }
      return state.isStopped ? nil : state.jobs
    }
  }
}

private func monitorThread(_ monitor: gpointer?) -> gpointer? {
  guard let monitor else { return nil }
  let thread = Unmanaged<MonitorThread>.fromOpaque(monitor).takeRetainedValue()
  thread.run()
  return nil
}
