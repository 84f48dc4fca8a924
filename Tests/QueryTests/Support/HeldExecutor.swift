import Dispatch

@testable import Query

/// Runs jobs on a thread of its own, and keeps those that come while a test says so.
final class HeldExecutor: TaskExecutor {
  private struct State {
    /// nil: none is to be kept.
    var held: [UnownedJob]?
    var runningJobs = 0
    var jobCount = 0
  }

  private let queue = DispatchQueue(label: "held")
  private let state = Locked(State())

  /// Whether a job has still to come to its end, or to where it waits.
  var isBusy: Bool { self.state.withLock { $0.runningJobs > 0 } }

  /// How many jobs have come.
  var jobCount: Int { self.state.withLock { $0.jobCount } }

  /// Returns when each job has come to its end, or to where it waits.
  func idle() async { while self.isBusy { await Task.yield() } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isHeld = self.state.withLock { state in
      state.jobCount += 1
      state.held?.append(job)
      if state.held == nil { state.runningJobs += 1 }
      return state.held != nil
    }
    if !isHeld { self.run(job) }
  }

  func hold() { self.state.withLock { $0.held = [] } }

  /// Runs what was kept, and what comes from now on.
  func release() {
    let jobs = self.state.withLock { state in
      defer { state.held = nil }
      state.runningJobs += state.held?.count ?? 0
      return state.held ?? []
    }
    for job in jobs { self.run(job) }
  }

  private func run(_ job: UnownedJob) {
    self.queue.async {
      job.runSynchronously(on: self.asUnownedTaskExecutor())
      self.state.withLock { $0.runningJobs -= 1 }
    }
  }
}
