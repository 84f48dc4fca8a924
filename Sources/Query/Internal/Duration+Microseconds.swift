extension Duration {
  /// Whole microseconds, rounded up; clamped to the range.
  package var microseconds: Int64 {
    let (seconds, attoseconds) = self.components
    let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
    if isOver { return seconds > 0 ? .max : .min }
    let part = attoseconds / 1_000_000_000_000
    let rest = attoseconds % 1_000_000_000_000 > 0 ? Int64(1) : 0
    return whole.clampedSum(part + rest)
  }
}
