import Query

extension Sequence {
  /// The sum of a number of each; the limit that it exceeds if it does not fit: what a damaged file states
  /// must not stop the process.
  func sum(_ number: (Element) -> Int) -> Int {
    self.reduce(0) { Int(Int64($0).clampedSum(Int64(number($1)))) }
  }
}
