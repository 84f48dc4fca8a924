import Synchronization

/// How many things wait for a writing thread. Changed under the lock of what waits; the thread that waits
/// for some without sleeping looks at this, so as not to be in the way of who adds one.
final class WaitingCount: Sendable {
  private let count = Atomic(0)

  var value: Int {
    get { self.count.load(ordering: .relaxed) }
    set { self.count.store(newValue, ordering: .relaxed) }
  }
}
