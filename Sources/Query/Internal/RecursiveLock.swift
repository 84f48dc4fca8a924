import Glibc

/// A lock that its holder may take again.
///
/// A pthread mutex rather than `Mutex` with the owner beside it: glibc declares `pthread_self`
/// constant, so code that compares it, inlined into an async function, may use the answer of
/// another thread after an `await`.
// @unchecked: a mutex at a constant address may be used from any thread.
@usableFromInline
struct RecursiveLock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    self.mutex = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
    pthread_mutex_init(self.mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  @usableFromInline
  func lock() { if pthread_mutex_trylock(self.mutex) != 0 { lockContended(self.mutex) } }

  @usableFromInline
  func unlock() { pthread_mutex_unlock(self.mutex) }

  /// Takes the lock if no other thread has it.
  func tryLock() -> Bool { pthread_mutex_trylock(self.mutex) == 0 }

  func isSame(as other: RecursiveLock) -> Bool { self.mutex == other.mutex }

  /// Frees the mutex. Called by its owner, last.
  func destroy() {
    pthread_mutex_destroy(self.mutex)
    self.mutex.deallocate()
  }
}
