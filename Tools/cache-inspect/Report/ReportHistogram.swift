import Query

/// Counts entries by ranges of a measure, one entry at a time, so that a large store is never held
/// whole.
///
/// ```swift
/// var ages = ReportHistogram.ages
/// ages.add(entry.age, bytes: entry.byteCount)
/// data.ages = ages.buckets
/// ```
struct ReportHistogram: Sendable {
  /// One range of the measure.
  struct Bucket: Encodable, Sendable, Hashable {
    /// The range for a person: `< 1 min`.
    let label: String
    /// How many entries are in it.
    var count: Int
    /// What they take, in bytes.
    var bytes: Int
  }

  /// The ranges so far, the smallest measure first; all of them, also those that are empty.
  private(set) var buckets: [Bucket]
  /// The upper ends of all ranges except the last, which is open; an end is outside its range.
  private let ends: [Double]

  /// No entry counted. `ranges` are in ascending order; `last` is the label of what is above them.
  private init(_ ranges: [(label: String, end: Double)], last: String) {
    self.buckets = (ranges.map(\.label) + [last]).map { Bucket(label: $0, count: 0, bytes: 0) }
    self.ends = ranges.map(\.end)
  }

  /// Counts an entry.
  ///
  /// - Parameters:
  ///   - measure: Seconds, or bytes. A negative age, of a clock that jumped, counts as zero.
  ///   - bytes: What the entry takes. Impossible numbers of a damaged file do not trap.
  mutating func add(_ measure: Double, bytes: Int) {
    let index = self.ends.firstIndex { measure < $0 } ?? self.ends.count
    self.buckets[index].count += 1
    self.buckets[index].bytes = Int(Int64(self.buckets[index].bytes).clampedSum(Int64(bytes)))
  }

  /// Ranges of age; measured in seconds.
  static let ages = Self(
    [
      ("< 1 min", 60), ("1–10 min", 600), ("10–60 min", 3_600), ("1–24 h", 86_400),
      ("1–7 days", 604_800), ("7–30 days", 2_592_000),
    ], last: "≥ 30 days")

  /// Ranges of size; measured in bytes.
  static let sizes = Self(
    [
      ("< 256 B", 256), ("256 B–1 KiB", 1_024), ("1–4 KiB", 4_096), ("4–16 KiB", 16_384),
      ("16–64 KiB", 65_536), ("64 KiB–1 MiB", 1_048_576),
    ], last: "≥ 1 MiB")
}
