package import FoundationEssentials
import Glibc

/// The times that an outbox uses, read at one moment. All but the wall clock are of one boot.
package struct OutboxTime: Sendable {
  /// What people read.
  package var wall: Date
  /// Microseconds since the boot, time of suspension included (`CLOCK_BOOTTIME`): waits go by it.
  package var boottime: Int
  /// Microseconds since the boot without suspension (`CLOCK_MONOTONIC`): leases use it, since
  /// otherwise every lease would end after a suspension while its owner is still sending.
  package var monotonic: Int
  /// The identifier of the boot.
  package var bootID: String
  /// Whether the kernel says that the wall clock is synchronised.
  package var isSynchronised: Bool

  package init(
    wall: Date, boottime: Int, monotonic: Int, bootID: String, isSynchronised: Bool
  ) {
    self.wall = wall
    self.boottime = boottime
    self.monotonic = monotonic
    self.bootID = bootID
    self.isSynchronised = isSynchronised
  }
}

/// The outbox's source of time; a test supplies its own.
package struct OutboxClock: Sendable {
  package var now: @Sendable () -> OutboxTime

  package init(now: @escaping @Sendable () -> OutboxTime) { self.now = now }

  /// The kernel's clocks. They do not query whether the wall clock is synchronised, since that
  /// matters only across boots.
  package static let system = OutboxClock {
    OutboxTime(
      wall: Date(),
      // On Linux the continuous clock is CLOCK_BOOTTIME, and the suspending one CLOCK_MONOTONIC.
      boottime: Int(ContinuousClock.now.microsecondsSinceBoot),
      monotonic: Int(SuspendingClock().systemEpoch.duration(to: .now).microseconds),
      bootID: Self.bootID,
      isSynchronised: false)
  }

  /// A test's clock. It is of a boot of its own, a second ago, whose wall clock is right: in a boot's very
  /// first microsecond nothing is due, since 0 stands for no time.
  package init(_ clock: MockQueryClock) {
    let start = clock.start.microsecondsSince1970
    let first = Date(microsecondsSince1970: start) < clock.start ? start + 1 : start
    self.init {
      // All are of one whole microsecond, so that a wait is over when the test's clock shows its end.
      let elapsed = clock.elapsed.microseconds
      return OutboxTime(
        wall: Date(microsecondsSince1970: first.clampedSum(elapsed)),
        boottime: 1_000_000 + Int(elapsed), monotonic: 1_000_000 + Int(elapsed), bootID: "mock",
        isSynchronised: true)
    }
  }

  // It is the same in all PID namespaces.
  private static let bootID: String = {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return text.map { String($0.prefix { !$0.isWhitespace }) } ?? "unknown"
  }()
}
