import Foundation

/// Microseconds by `CLOCK_MONOTONIC`, which all processes of the machine share.
typealias Moment = Int

extension Moment {
  /// This moment.
  static var now: Moment {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
  }

  /// So many seconds.
  static func seconds(_ seconds: Double) -> Moment { Moment(seconds * 1_000_000) }
}
