/// Tells how long something took.
struct Stopwatch {
  private let start = ContinuousClock.now

  /// The nanoseconds since it was made, divided among operations.
  func nanoseconds(per count: Int = 1) -> Double {
    let (seconds, attoseconds) = (ContinuousClock.now - self.start).components
    return (Double(seconds) * 1e9 + Double(attoseconds) * 1e-9) / Double(count)
  }
}

/// The work of a row had a wrong result.
struct CheckFailure: Error, CustomStringConvertible {
  let description: String
}

/// Checks the result of a round, which also keeps the optimiser from leaving its work out.
func expect<Value: Equatable>(
  _ value: Value,
  _ expected: Value,
  _ what: String
) throws {
  if value != expected {
    throw CheckFailure(description: "\(what): \(value) instead of \(expected)")
  }
}
