public import Glibc

/// A value behind a lock of its own.
///
/// A pthread mutex rather than `Mutex` of Synchronization: a contended `Mutex` is locked inside the
/// runtime library, which the thread sanitizer does not see, so that each contended access would be
/// reported as a race.
// @unchecked: the value is reached under the mutex alone.
@usableFromInline
package struct Locked<Value>: @unchecked Sendable {
  @usableFromInline let storage: LockedStorage<Value>

  @inlinable
  package init(_ value: sending Value) {
    let storage = LockedStorage<Value>.create(minimumCapacity: 1) { _ in value }
    storage.withUnsafeMutablePointerToElements { mutex in
      _ = pthread_mutex_init(mutex, nil)
    }
    self.storage = unsafeDowncast(storage, to: LockedStorage<Value>.self)
  }

  /// Reads or changes the value. The closure must not call a user's code.
  @inlinable
  package func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let (value, mutex) = self.storage.withUnsafeMutablePointers { ($0, $1) }
    if pthread_mutex_trylock(mutex) != 0 { lockContended(mutex) }
    defer {
      pthread_mutex_unlock(mutex)
      // The addresses are good for as long as the storage lives, which nothing else says here.
      withExtendedLifetime(self.storage) {}
    }
    return try body(&value.pointee)
  }
}

/// The value, and behind it the mutex: both at an address that does not change.
@usableFromInline
final class LockedStorage<Value>: ManagedBuffer<Value, pthread_mutex_t> {
  deinit {
    self.withUnsafeMutablePointerToElements { mutex in
      _ = pthread_mutex_destroy(mutex)
    }
  }
}
