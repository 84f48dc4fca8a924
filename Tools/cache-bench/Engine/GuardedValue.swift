import Foundation

/// A number behind a recursive lock, with a date, a count and observers: what a store cannot do
/// without.
// @unchecked: `mutex` guards the variables.
final class GuardedValue: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Int?
  private var updateCount = 0
  private var updatedAt: Date?
  private var observers: [@Sendable (Int?) -> Void]

  init(observers: [@Sendable (Int?) -> Void] = []) {
    self.observers = observers
    self.mutex = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
    pthread_mutex_init(self.mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    pthread_mutex_destroy(self.mutex)
    self.mutex.deallocate()
  }

  func set(_ value: Int) {
    pthread_mutex_lock(self.mutex)
    self.value = value
    self.updateCount += 1
    self.updatedAt = Date()
    let observers = self.observers
    pthread_mutex_unlock(self.mutex)
    for observer in observers { observer(value) }
  }

  /// The value, and how often it was set.
  var contents: (value: Int?, updateCount: Int) {
    pthread_mutex_lock(self.mutex)
    defer { pthread_mutex_unlock(self.mutex) }
    return (self.value, self.updateCount)
  }
}
