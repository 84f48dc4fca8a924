extension Duration {
  /// Whole microseconds, rounded up; clamped to the range.
  package var microseconds: Int64 { self.whole(perSecond: 1_000_000) }

  /// Whole nanoseconds, rounded up; clamped to the range.
  var nanoseconds: Int64 { self.whole(perSecond: 1_000_000_000) }

  private func whole(perSecond units: Int64) -> Int64 {
    let (seconds, attoseconds) = self.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: units)
    if isOver { return seconds > 0 ? .max : .min }
    let unit = 1_000_000_000_000_000_000 / units
    let rest = attoseconds % unit > 0 ? Int64(1) : 0
    return whole.clampedSum(attoseconds / unit + rest)
  }
}
