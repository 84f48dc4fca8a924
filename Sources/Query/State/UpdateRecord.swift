public import FoundationEssentials

/// What a state remembers of its updates besides the value: counts, dates, the last error, and whether
/// the value was invalidated.
@usableFromInline
struct UpdateRecord: Sendable {
  @usableFromInline var valueUpdateCount = 0
  @usableFromInline var valueLastUpdatedAt: Date?
  @usableFromInline var error: (any Error)?
  @usableFromInline var errorUpdateCount = 0
  @usableFromInline var errorLastUpdatedAt: Date?
  @usableFromInline var isInvalidated = false

  @inlinable
  init() {}

  @inlinable
  mutating func recordValue(at date: Date) {
    self.valueUpdateCount += 1
    self.valueLastUpdatedAt = date
    // The count and the date of the last error stay: they are history.
    self.error = nil
    self.isInvalidated = false
  }

  @inlinable
  mutating func recordError(_ error: any Error, at date: Date) {
    self.error = error
    self.errorUpdateCount += 1
    self.errorLastUpdatedAt = date
  }
}
