import Testing

@testable import Query

@Suite struct LastInvalidationTests {
  private func last(_ microseconds: Int64) -> LastInvalidation {
    LastInvalidation(microseconds: microseconds)
  }

  /// Times of 1 to 9 are past, whatever machine this is; what is far ahead is of an earlier boot.
  private static let ahead: Int64 = 1 << 59

  @Test(
    arguments: [
      // Nothing is stored of one.
      (0, 0, 5, 0, false), (7, 0, 5, 7, false), (-3, 0, 5, -3, false),
      // The stored value is invalidated, and the new one knows.
      (0, 4, 5, -4, false), (-3, 4, 5, -4, false), (-4, 4, 3, -4, false), (7, 4, 5, 7, false),
      (0, 4, nil, -4, false),
      // It does not know.
      (0, 6, 5, 6, true), (-3, 6, 5, 6, true), (7, 6, 5, 7, true), (6, 6, 5, 6, true),
      // The stored value answers it, and so does the new one.
      (0, -4, 5, -4, false), (-5, -4, 5, -5, false), (7, -4, 5, 7, false), (0, -4, nil, -4, false),
      // Or was read with it.
      (-4, -4, 2, -4, false),
      // Of an earlier boot.
      (0, Self.ahead, 5, 0, false), (0, -Self.ahead, 5, 0, false), (-3, -Self.ahead, 5, -3, false),
    ] as [(Int64, Int64, Int64?, Int64, Bool)])
  func ofTheValueThatTakesAPlace(
    own: Int64, stored: Int64, known: Int64?, result: Int64, isNews: Bool
  ) throws {
    let new = try #require(self.last(own).replacing(self.last(stored), knownUntil: known))
    #expect(new.invalidation == self.last(result))
    #expect(new.isNews == isNews)
  }

  /// Also if the new one was invalidated, then or later.
  @Test(arguments: [0, -3, 3, 6, 8] as [Int64])
  func whatWasAskedForBeforeTakesNoPlaceOfWhatWasAskedForAfter(_ own: Int64) {
    #expect(self.last(own).replacing(self.last(-6), knownUntil: 5) == nil)
  }

  @Test(
    arguments: [
      (0, 0, 0), (0, 4, 4), (0, -4, -4), (-5, 4, 4), (-5, 0, 0), (3, 0, 3), (3, 4, 4), (5, 4, 5),
      (4, -4, -4), (3, -4, -4), (5, -4, 5), (1, -4, 1), (5, Self.ahead, 5), (5, -Self.ahead, 5),
    ] as [(Int64, Int64, Int64)])
  func besideAValueThatStays(own: Int64, stored: Int64, result: Int64) {
    #expect(self.last(own).noted(beside: self.last(stored)) == self.last(result))
  }

  @Test(
    arguments: [
      (0, 0, false), (0, 5, false), (5, 0, true), (-5, 0, true), (5, 4, true), (-5, -4, true),
      (5, 5, false), (-5, 5, false), (5, -5, false), (4, -5, false), (Self.ahead, 0, false),
      (5, Self.ahead, true), (Self.ahead, Self.ahead, false),
    ] as [(Int64, Int64, Bool)])
  func whatAStoreHasYetToLearn(read: Int64, known: Int64, isNews: Bool) {
    #expect(self.last(read).isNews(to: self.last(known)) == isNews)
  }

  @Test(arguments: [(0, 5), (4, 5), (-4, 5), (6, 6), (-6, 6), (Self.ahead, 5)] as [(Int64, Int64)])
  func whoHasReadItKnowsOfIt(read: Int64, until: Int64) {
    let known = self.last(read).knownUntil(atLeast: BootInstant(microseconds: 5))
    #expect(known?.microseconds == until)
    #expect(self.last(read).knownUntil(atLeast: nil) == nil)
  }

  @Test(arguments: [(5, true), (-5, true), (6, false), (-6, false), (1, false)] as [(Int64, Bool)])
  func aFetchThatBeganAfterItKnowsOfIt(invalidation: Int64, isKnown: Bool) {
    #expect(self.last(invalidation).isKnown(to: BootInstant(microseconds: 5)) == isKnown)
  }

  @Test(arguments: [0, 1, 5, -5] as [Int64])
  func aHistoryHasIt(_ microseconds: Int64) {
    var history = UpdateHistory()
    history.lastInvalidation = self.last(microseconds)
    #expect(history.lastInvalidation == self.last(microseconds))
    #expect(history.isInvalidated == (microseconds > 0))
    #expect((history.invalidatedAt == nil) == (microseconds == 0))
  }
}
