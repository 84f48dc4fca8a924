public import Glibc

/// A value behind a lock of its own.
///
/// A pthread mutex rather than `Mutex` of Synchronization: a contended `Mutex` is locked inside the
/// runtime library, which the thread sanitizer does not see, so that each contended access would be
/// reported as a race.
// @unchecked: the value is reached under the mutex alone.
@usableFromInline
package struct Locked<Value>: @unchecked Sendable {
  @usableFromInline let storage: LockedStorage

  @inlinable
  package init(_ value: sending Value) {
    self.storage = LockedStorage.make(
      byteCount: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment
    ) {
      $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    }
    // Not inside of the closure, which would copy the value.
    let place = self.storage.withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
    place.initializeMemory(as: Value.self, to: value)
    withExtendedLifetime(self.storage) {}
  }

  /// Reads or changes the value. The closure must not call a user's code.
  @inlinable
  package func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let (lock, place) = self.storage.withUnsafeMutablePointers { lock, place in
      (lock, UnsafeMutableRawPointer(place).assumingMemoryBound(to: Value.self))
    }
    let mutex = UnsafeMutableRawPointer(lock).assumingMemoryBound(to: pthread_mutex_t.self)
    if pthread_mutex_trylock(mutex) != 0 { lockContended(mutex) }
    defer {
      pthread_mutex_unlock(mutex)
      // The addresses are good for as long as the storage lives, which nothing else says here.
      withExtendedLifetime(self.storage) {}
    }
    return try body(&place.pointee)
  }
}

/// The mutex and behind it the value, both at an address that does not change.
///
/// Not generic: a launch makes locks of two dozen types, and the runtime library would make two classes for each.
@usableFromInline
final class LockedStorage: ManagedBuffer<LockedStorage.Header, LockedStorage.Unit> {
  @usableFromInline
  struct Header {
    // First: its address is that of the header.
    @usableFromInline var mutex = pthread_mutex_t()
    let deinitialize: (UnsafeMutableRawPointer) -> Void
  }

  /// What the value's memory is counted in, aligned as the allocator aligns objects.
  ///
  /// It has a reference, though nothing is read as one: the optimizer takes it that memory of a type without any keeps
  /// no object alive, and frees one that was put there with the frame of the function that made it.
  @usableFromInline
  struct Unit {
    let words: SIMD2<UInt64>
    let reference: AnyObject?
  }

  /// - Parameters:
  ///   - byteCount: The size of the value.
  ///   - alignment: The alignment of the value.
  ///   - deinitialize: Destroys the value.
  /// - Returns: A storage whose value is still to be initialised.
  @usableFromInline
  static func make(
    byteCount: Int, alignment: Int, deinitialize: @escaping (UnsafeMutableRawPointer) -> Void
  ) -> LockedStorage {
    let unit = MemoryLayout<Unit>.stride
    precondition(alignment <= unit, "A value of this alignment cannot be kept behind a lock.")
    let storage = self.create(minimumCapacity: (byteCount + unit - 1) / unit) { _ in
      Header(deinitialize: deinitialize)
    }
    storage.withUnsafeMutablePointerToHeader { _ = pthread_mutex_init(&$0.pointee.mutex, nil) }
    return unsafeDowncast(storage, to: LockedStorage.self)
  }

  deinit {
    self.withUnsafeMutablePointers { header, place in
      header.pointee.deinitialize(UnsafeMutableRawPointer(place))
      pthread_mutex_destroy(&header.pointee.mutex)
    }
  }
}
