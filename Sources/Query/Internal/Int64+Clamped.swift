extension Int64 {
  /// The sum, or the limit that it exceeds: a damaged row must not stop the process.
  package func clampedSum(_ other: Int64) -> Int64 {
    let (sum, isOver) = self.addingReportingOverflow(other)
    return isOver ? (other > 0 ? .max : .min) : sum
  }

  /// The difference, or the limit that it exceeds.
  package func clampedDifference(_ other: Int64) -> Int64 {
    let (difference, isOver) = self.subtractingReportingOverflow(other)
    return isOver ? (other < 0 ? .max : .min) : difference
  }
}
