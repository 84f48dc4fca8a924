import Glibc

/// The kernel's pressure-stall information for memory, as a source of memory pressure.
///
/// Some program waiting for memory for 30 % of two seconds is a warning; all programs waiting at
/// once for a tenth of the time that follows is critical. One thread waits for the kernel while there
/// are subscribers. The interface is the kernel's `Documentation/accounting/psi.rst`.
public final class PressureStallSource: MemoryPressureSource, Sendable {
  private let path: String
  private let observers = ObserverList(MemoryPressure.normal)
  private let watching = Locked(Watching())

  private struct Watching {
    var watch: PressureWatch?
    var subscriberCount = 0
  }

  /// Creates a source. It asks the kernel for nothing before somebody subscribes.
  ///
  /// - Parameter path: The kernel's file.
  /// - Returns: `nil` if the kernel does not offer it, or not to this process.
  public init?(path: String = "/proc/pressure/memory") {
    guard PressureWatch.isOffered(at: path) else { return nil }
    self.path = path
  }

  public func subscribe(
    with handler: @escaping @Sendable (MemoryPressure) -> Void
  ) -> QuerySubscription {
    let subscription = self.observers.subscribe(emittingFirst: false, handler)
    self.watching.withLock { watching in
      watching.subscriberCount += 1
      guard watching.watch == nil, let watch = PressureWatch(path: self.path) else { return }
      watching.watch = watch
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

/// How critical pressure is told from what the kernel counts, once its trigger has fired.
///
/// A second trigger would tell it too, and cost the program another 16 ms at its end.
struct StallGauge {
  /// Whether a trigger has fired. Otherwise `poll` has returned because its time is over.
  static func hasFired(_ trigger: pollfd) -> Bool { trigger.revents & Int16(POLLPRI) != 0 }

  /// For how long all programs have waited, in microseconds, and when that was read.
  struct Reading: Equatable {
    var stalled: Int64
    var time: Duration

    init(stalled: Int64, time: Duration) {
      self.stalled = stalled
      self.time = time
    }

    /// - Parameters:
    ///   - text: The kernel's file: `full avg10=0.00 avg60=0.00 avg300=0.00 total=0` is one line.
    ///   - time: The time.
    init?(_ text: String, at time: Duration) {
      let full = text.split(separator: "\n").first { $0.hasPrefix("full ") }
      guard let total = full?.split(separator: "total=").last, let stalled = Int64(total) else {
        return nil
      }
      self.init(stalled: stalled, time: time)
    }
  }

  /// The length of the trigger's window, after which it may fire again.
  static let window = Duration.seconds(2)

  private var last: Reading?

  /// Takes a reading, when the trigger has fired or the time to measure is over.
  ///
  /// - Returns: What is felt.
  mutating func take(_ reading: Reading?, hasFired: Bool) -> [MemoryPressure] {
    var felt = hasFired ? [MemoryPressure.warning] : []
    if let last, let reading {
      let stalled = Duration.microseconds(reading.stalled - last.stalled)
      if stalled > .zero, stalled * 10 >= reading.time - last.time { felt.append(.critical) }
    }
    self.last = hasFired ? reading : nil
    return felt
  }

  /// When to read next, whether the trigger fires or not; nil: not before it does.
  var deadline: Duration? { self.last.map { $0.time + Self.window } }
}

/// The descriptors of one watch, and the thread that waits for them.
private final class PressureWatch: Sendable {
  // A program without privileges may ask for windows of whole two seconds only.
  private static let trigger = "some 600000 2000000"

  private let descriptor: Int32
  private let stopPipe: [Int32]

  init?(path: String) {
    let descriptor = Self.open(path)
    var stop: [Int32] = [-1, -1]
    guard descriptor >= 0 else { return nil }
    // The kernel wants the terminating zero, too.
    let bytes = Array(Self.trigger.utf8) + [0]
    guard write(descriptor, bytes, bytes.count) == bytes.count, pipe(&stop) == 0 else {
      close(descriptor)
      return nil
    }
    for descriptor in stop { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    self.descriptor = descriptor
    self.stopPipe = stop
  }

  deinit {
    for descriptor in [self.descriptor] + self.stopPipe { close(descriptor) }
  }

  /// Whether the kernel has the file, and lets this process write it.
  static func isOffered(at path: String) -> Bool {
    let descriptor = Self.open(path)
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }

  /// - Returns: A descriptor of the kernel's file; -1 on failure.
  private static func open(_ path: String) -> Int32 {
    let descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0, !Self.isOfKernel(descriptor) else { return descriptor }
    close(descriptor)
    return -1
  }

  /// Whether a file is the kernel's: such a file shows the averages, and has no size. Writing a
  /// trigger to any other file would damage it.
  private static func isOfKernel(_ descriptor: Int32) -> Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size == 0 else { return false }
    return Self.bytes(of: descriptor, length: 11) == Array("some avg10=".utf8)
  }

  private static func bytes(of descriptor: Int32, length: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
      count = max(pread(descriptor, bytes.baseAddress, length, 0), 0)
    }
  }

  /// Waits on a thread of its own, which keeps this object until it is stopped.
  func start(_ onPressure: @escaping @Sendable (MemoryPressure) -> Void) {
    startThread("memory pressure") { self.wait(onPressure) }
  }

  func stop() {
    var byte: UInt8 = 0
    _ = write(self.stopPipe[1], &byte, 1)
  }

  private func wait(_ onPressure: (MemoryPressure) -> Void) {
    var polled = [
      pollfd(fd: self.descriptor, events: Int16(POLLPRI), revents: 0),
      pollfd(fd: self.stopPipe[0], events: Int16(POLLIN), revents: 0),
    ]
    let start = ContinuousClock.now
    var gauge = StallGauge()
    while true {
      let rest = gauge.deadline.map { max($0 - (ContinuousClock.now - start), .zero) }
      let timeout = rest.map { Int32(($0 / .milliseconds(1)).rounded(.up)) } ?? -1
      let count = poll(&polled, nfds_t(polled.count), timeout)
      if count < 0 {
        if errno == EINTR { continue }
        return
      }
      if polled[1].revents != 0 || polled[0].revents & Int16(POLLERR) != 0 { return }
      let text = String(decoding: Self.bytes(of: self.descriptor, length: 256), as: UTF8.self)
      let felt = gauge.take(
        StallGauge.Reading(text, at: ContinuousClock.now - start),
        hasFired: StallGauge.hasFired(polled[0]))
      for pressure in felt { onPressure(pressure) }
    }
  }
}
