import Query

// The clock of the machine, which all its processes share and nobody sets: `CLOCK_BOOTTIME`.

extension ContinuousClock.Instant {
  /// Microseconds since the start of the machine, at least 1.
  var sinceBoot: Int64 {
    max(1, Int64(ContinuousClock().systemEpoch.duration(to: self).microseconds))
  }

  /// - Parameter microseconds: Since the start of the machine.
  init(sinceBoot microseconds: Int64) {
    self = ContinuousClock().systemEpoch + .microseconds(microseconds)
  }
}

extension ContinuousClock.Instant? {
  /// As that of the instant; 1 if nobody knows it.
  var sinceBoot: Int64 { self?.sinceBoot ?? 1 }
}
