import Synchronization

/// The number of jobs that wait for a writing thread. Changed under the lock of the queue; a thread
/// that polls for jobs reads this instead, so as not to block the threads that add one.
final class WaitingCount: Sendable {
  private let count = Atomic(0)

  var value: Int {
    get { self.count.load(ordering: .relaxed) }
    set { self.count.store(newValue, ordering: .relaxed) }
  }
}
