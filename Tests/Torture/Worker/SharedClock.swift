import Foundation
import Query

/// The clock of all workers of a folder: the system's, moved by what a file says.
final class SharedClock: Sendable {
  private let descriptor: Int32

  /// - Parameter path: The file, which is made if it is missing.
  /// - Throws: `POSIXError`.
  init(at path: String) throws {
    self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if self.descriptor < 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  deinit { close(self.descriptor) }

  /// Microseconds by which the wall clock and the time since the boot are ahead. Never of the monotonic
  /// clock, which no kernel lets jump.
  private var offsets: (wall: Int, boottime: Int) {
    var offsets = [0, 0]
    let count = offsets.withUnsafeMutableBytes { pread(self.descriptor, $0.baseAddress, 16, 0) }
    return count == 16 ? (offsets[0], offsets[1]) : (0, 0)
  }

  /// Sets the wall clock, and lets the machine sleep.
  ///
  /// - Parameters:
  ///   - wall: How far ahead the wall clock is from now on, in seconds; behind if it is negative.
  ///   - slept: How many seconds more the machine has slept.
  func jump(wall: Double, slept: Double) {
    let offsets = [Moment.seconds(wall), self.offsets.boottime + .seconds(slept)]
    let count = offsets.withUnsafeBytes { pwrite(self.descriptor, $0.baseAddress, 16, 0) }
    precondition(count == 16, "the bench's own clock cannot be written")
  }

  /// The wall clock.
  var wall: Date { Date() + Double(self.offsets.wall) / 1_000_000 }

  /// As an outbox wants it.
  var outboxClock: OutboxClock {
    OutboxClock {
      var time = OutboxClock.system.now()
      let offsets = self.offsets
      time.wall += Double(offsets.wall) / 1_000_000
      time.boottime += offsets.boottime
      return time
    }
  }
}
