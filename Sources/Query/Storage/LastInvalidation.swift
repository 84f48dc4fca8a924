/// When a value was last invalidated, and whether it is a newer one by now.
///
/// It is kept when the value answers it: an answer that was asked for before, and comes late, is known by that
/// to be the older one.
package struct LastInvalidation: Equatable, Sendable {
  /// In microseconds since the start of the machine, at least 1; negative: the value was asked for, or set,
  /// after it; 0: there was none.
  package let microseconds: Int64

  package init(microseconds: Int64) { self.microseconds = microseconds }

  /// There was none.
  package static var none: Self { Self(microseconds: 0) }

  /// The value is invalidated, and nobody knows since when.
  package static var atUnknownTime: Self { Self(microseconds: 1) }

  init(at instant: BootInstant) { self.init(microseconds: instant.microseconds) }

  /// When it was, whether or not the value answers it; 0: there was none.
  private var time: Int64 { abs(self.microseconds) }

  /// Whether the value is invalidated.
  package var isStanding: Bool { self.microseconds > 0 }

  /// When it was; nil: there was none.
  package var instant: ContinuousClock.Instant? {
    self == .none ? nil : .init(microsecondsSinceBoot: self.time)
  }

  /// The same, of a value that was asked for after it.
  var answered: Self { Self(microseconds: -self.time) }

  /// The clock of an earlier boot may be ahead; its fetches are over.
  private var isOfEarlierBoot: Bool { self.time > BootInstant.now.microseconds }

  /// Whether what was asked for at a time was asked for after it.
  func isKnown(to beginning: BootInstant) -> Bool {
    self != .atUnknownTime && beginning.microseconds >= self.time
  }
}

// MARK: - Beside a stored one

extension LastInvalidation {
  /// What is stored of this, that of a value that is to take the place of a stored one.
  ///
  /// - Parameters:
  ///   - stored: That of the stored value.
  ///   - known: Up to when the new one knows of invalidations, in microseconds since the start of the machine;
  ///     nil: of all.
  /// - Returns: What is stored, and whether the new value is invalidated without knowing; nil if the new value
  ///   was asked for before an invalidation, and the stored one after it.
  package func replacing(
    _ stored: Self, knownUntil known: Int64?
  ) -> (invalidation: Self, isNews: Bool)? {
    if stored == .none || stored.isOfEarlierBoot { return (self, false) }
    let later = max(self.time, stored.time)
    // What was read with the stored value is known, whatever its time.
    let isUnknown = known.map { stored.time > $0 && self != stored.answered } ?? false
    if !isUnknown { return (Self(microseconds: self.isStanding ? later : -later), false) }
    return stored.isStanding ? (Self(microseconds: later), true) : nil
  }

  /// Whether a state that knows another has yet to learn of this one, which was read.
  func isNews(to known: Self) -> Bool {
    if self == .none { return false }
    let isLater = self.time > known.time || known.isOfEarlierBoot
    return isLater && !self.isOfEarlierBoot
  }

  /// Up to when a state that has read this knows of invalidations.
  ///
  /// - Parameter known: What it knew before; nil: all.
  func knownUntil(atLeast known: BootInstant?) -> BootInstant? {
    guard let known, self != .none, !self.isOfEarlierBoot else { return known }
    return max(known, BootInstant(microseconds: self.time))
  }

  /// What is stored of this if the stored value stays: what that answers already is no news.
  ///
  /// - Parameter stored: That of the stored value.
  package func noted(beside stored: Self) -> Self {
    guard self.isStanding else { return stored }
    let isNews = self.time > stored.time || self == .atUnknownTime || stored.isOfEarlierBoot
    return isNews ? self : stored
  }
}

/// What the state that is written knows of invalidations.
package struct KnownInvalidations {
  /// The last one.
  package let last: LastInvalidation
  /// Up to when it knows of all, in microseconds since the start of the machine; nil: it does not end.
  let until: Int64?
  /// Whether a fetch has brought the value.
  let isFetched: Bool

  /// What is stored of the last one where something stands whose last one is another, whether the state does not
  /// know that, and whether what stands is newer: it was asked for after that, and this one before.
  package func merged(
    with stored: LastInvalidation
  ) -> (invalidation: LastInvalidation, isNews: Bool, isOlder: Bool) {
    if let new = self.last.replacing(stored, knownUntil: self.until) {
      return (new.invalidation, new.isNews, false)
    }
    // If it is written all the same, it was made of the stored value, or set by hand.
    return (self.last.noted(beside: stored), false, self.isFetched)
  }
}

extension StoredEntry {
  package var knownInvalidations: KnownInvalidations {
    KnownInvalidations(
      last: self.history.lastInvalidation,
      until: self.invalidationsKnownUntil?.microsecondsSinceBoot, isFetched: self.isFetched)
  }
}
