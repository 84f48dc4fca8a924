public import Glibc

/// How often a thread tries to take a lock before it sleeps.
///
/// What runs under the library's locks takes some hundred nanoseconds, and to put a thread to sleep and to
/// wake it several microseconds. Sixty-four tries take one or two.
private let attemptCount = 64

/// Takes a mutex that another thread has.
@usableFromInline
package func lockContended(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
  for _ in 0..<attemptCount where pthread_mutex_trylock(mutex) == 0 { return }
  pthread_mutex_lock(mutex)
}
