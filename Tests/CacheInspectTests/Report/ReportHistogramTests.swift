import Testing

@testable import cache_inspect

/// Each entry is in one range, and no range is left out.
@Suite struct ReportHistogramTests {
  @Test func anEndBelongsToTheRangeAboveIt() {
    var sizes = ReportHistogram.sizes
    for size in [0, 255, 256, 1_023, 1_024, 1_048_575, 1_048_576, 5_000_000_000] {
      sizes.add(Double(size), bytes: 1)
    }
    #expect(sizes.buckets.map(\.count) == [2, 2, 1, 0, 0, 1, 2])
    #expect(sizes.buckets.map(\.bytes) == [2, 2, 1, 0, 0, 1, 2])
  }

  @Test func sizesThatADamagedFileStatesDoNotTrap() {
    var sizes = ReportHistogram.sizes
    for size in [Int.max, .max, .min, .min, .min] { sizes.add(Double(size), bytes: size) }
    #expect(sizes.buckets.last?.bytes == .max)
    #expect(sizes.buckets.first?.bytes == .min)
  }

  @Test func anAgeOfAClockThatJumpedIsCounted() {
    var ages = ReportHistogram.ages
    for age in [-1e15, 0, 59.9, 60, 1e15, .infinity, .nan] { ages.add(age, bytes: 10) }
    #expect(ages.buckets.map(\.count) == [3, 1, 0, 0, 0, 0, 3])
    #expect(ages.buckets.first?.label == "< 1 min")
    #expect(ages.buckets.last?.label == "≥ 30 days")
  }
}
