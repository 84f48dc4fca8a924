// On Linux the continuous clock is `CLOCK_BOOTTIME`: all processes of the machine share it, and nobody sets it.

extension ContinuousClock.Instant {
  /// Microseconds since the start of the machine, time of suspension included, at least 1.
  package var microsecondsSinceBoot: Int64 {
    max(1, ContinuousClock().systemEpoch.duration(to: self).microseconds)
  }

  /// - Parameter microseconds: Since the start of the machine.
  package init(microsecondsSinceBoot microseconds: Int64) {
    self = ContinuousClock().systemEpoch + .microseconds(microseconds)
  }
}
