import Foundation

/// The kernel's pressure-stall information for memory, as a source of memory pressure.
///
/// Some program waiting for memory for 30 % of two seconds is a warning; all programs waiting at
/// once for a tenth of it is critical. One thread waits for the kernel while there are subscribers.
/// The interface is the kernel's `Documentation/accounting/psi.rst`.
public final class PressureStallSource: MemoryPressureSource, Sendable {
  private let path: String
  private let observers = ObserverList(MemoryPressure.normal)
  private let watching: Locked<Watching>

  private struct Watching {
    var watch: PressureWatch?
    var isRunning = false
    var subscriberCount = 0
  }

  /// Creates a source.
  ///
  /// - Parameter path: The kernel's file.
  /// - Returns: `nil` if the kernel does not offer it, or not to this process.
  public init?(path: String = "/proc/pressure/memory") {
    self.path = path
    // Kept for the first subscriber: the kernel takes milliseconds to take a trigger back.
    guard let watch = PressureWatch(path: path) else { return nil }
    self.watching = Locked(Watching(watch: watch))
  }

  public func subscribe(
    with handler: @escaping @Sendable (MemoryPressure) -> Void
  ) -> QuerySubscription {
    let subscription = self.observers.subscribe(emittingFirst: false, handler)
    self.watching.withLock { watching in
      watching.subscriberCount += 1
      guard !watching.isRunning, let watch = watching.watch ?? PressureWatch(path: self.path)
      else { return }
      watching.watch = watch
      watching.isRunning = true
      let observers = self.observers
      watch.start { observers.send($0) }
    }
    return QuerySubscription { [self] in
      subscription.cancel()
      self.watching.withLock { watching in
        watching.subscriberCount -= 1
        guard watching.subscriberCount == 0 else { return }
        watching.watch?.stop()
        watching.watch = nil
        watching.isRunning = false
      }
    }
  }
}

extension MemoryPressureSource where Self == PressureStallSource {
  /// The kernel's pressure-stall information for memory; `nil` if it is not offered.
  public static var pressureStall: PressureStallSource? { PressureStallSource.shared }
}

extension PressureStallSource {
  fileprivate static let shared = PressureStallSource()
}

/// The descriptors of one watch, and the thread that waits for them.
private final class PressureWatch: Sendable {
  // A program without privileges may ask for windows of whole two seconds only.
  private static let triggers: [(trigger: String, pressure: MemoryPressure)] = [
    ("some 600000 2000000", .warning),
    ("full 200000 2000000", .critical),
  ]

  private let descriptors: [Int32]
  private let stopPipe: [Int32]

  init?(path: String) {
    let opened = Self.triggers.map { Self.open(path, trigger: $0.trigger) }
    var stop: [Int32] = [-1, -1]
    guard opened.allSatisfy({ $0 >= 0 }), pipe(&stop) == 0 else {
      for descriptor in opened where descriptor >= 0 { close(descriptor) }
      return nil
    }
    for descriptor in stop { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    self.descriptors = opened
    self.stopPipe = stop
  }

  deinit {
    for descriptor in self.descriptors + self.stopPipe { close(descriptor) }
  }

  /// - Returns: A descriptor that becomes urgent when the trigger fires; -1 on failure.
  private static func open(_ path: String, trigger: String) -> Int32 {
    let descriptor = Foundation.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return -1 }
    // The kernel wants the terminating zero, too.
    let bytes = Array(trigger.utf8) + [0]
    guard
      Self.isOfKernel(descriptor),
      write(descriptor, bytes, bytes.count) == bytes.count
    else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  /// Whether a file is the kernel's: such a file shows the averages, and has no size. Writing a
  /// trigger to any other file would damage it.
  private static func isOfKernel(_ descriptor: Int32) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size == 0 else { return false }
    var bytes = Array("some avg10=".utf8)
    let expected = bytes
    return read(descriptor, &bytes, bytes.count) == expected.count && bytes == expected
  }

  /// Waits on a thread of its own, which keeps this object until it is stopped.
  func start(_ onPressure: @escaping @Sendable (MemoryPressure) -> Void) {
    let thread = Thread { self.wait(onPressure) }
    thread.name = "memory pressure"
    thread.start()
  }

  func stop() {
    var byte: UInt8 = 0
    _ = write(self.stopPipe[1], &byte, 1)
  }

  private func wait(_ onPressure: (MemoryPressure) -> Void) {
    var polled = self.descriptors.map { pollfd(fd: $0, events: Int16(POLLPRI), revents: 0) }
    polled.append(pollfd(fd: self.stopPipe[0], events: Int16(POLLIN), revents: 0))
    while true {
      guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else { return }
      if polled[polled.count - 1].revents != 0 { return }
      for (index, trigger) in Self.triggers.enumerated() {
        if polled[index].revents & Int16(POLLERR) != 0 { return }
        if polled[index].revents & Int16(POLLPRI) != 0 { onPressure(trigger.pressure) }
      }
    }
  }
}
