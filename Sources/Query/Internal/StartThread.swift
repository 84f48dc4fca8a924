import Glibc

/// Runs a closure on a thread of its own.
///
/// - Parameters:
///   - name: The thread's name, for a debugger: at most 15 bytes.
///   - stackSize: The bytes of its stack; nil: as many as the system gives.
///   - body: The closure.
/// - Returns: Whether the system had a thread for it.
@discardableResult
package func startThread(
  _ name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
) -> Bool {
  let start = Unmanaged.passRetained(ThreadStart(name, body))
  var thread = pthread_t()
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
  let status = pthread_create(
    &thread, &attributes,
    { argument in
      let start = Unmanaged<ThreadStart>.fromOpaque(argument!).takeRetainedValue()
      start.nameThread()
      start.body()
      return nil
    }, start.toOpaque())
  if status == 0 { pthread_detach(thread) } else { start.release() }
  return status == 0
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(_ name: String, _ body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }

  /// Names the current thread. `pthread_setname_np` is not in Swift's module of the C library.
  func nameThread() {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    let bytes = Array(self.name.utf8.prefix(15))
    _ = write(file, bytes, bytes.count)
    close(file)
  }
}
