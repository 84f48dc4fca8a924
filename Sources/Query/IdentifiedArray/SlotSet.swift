/// A set of slot numbers, a bit for each, in which 64 are counted in one step.
@usableFromInline
struct SlotSet {
  /// Empty until the first slot is added.
  @usableFromInline
  var words: [UInt64] = []

  @inlinable
  init() {}

  /// Adds a slot out of a number of slots, which is the same at each call.
  @inlinable
  mutating func insert(_ slot: Int, of capacity: Int) {
    if words.isEmpty { words = Array(repeating: 0, count: (capacity + 63) / 64) }
    words[slot / 64] |= 1 << UInt64(slot % 64)
  }

  /// Removes a slot, if it is in the set.
  @inlinable
  mutating func remove(_ slot: Int) {
    if !words.isEmpty { words[slot / 64] &= ~(1 << UInt64(slot % 64)) }
  }

  @inlinable
  mutating func removeAll() {
    for word in words.indices { words[word] = 0 }
  }

  /// How many slots of a range are in the set.
  ///
  /// - Complexity: O(*n* / 64), where *n* is the length of the range.
  @inlinable
  func count(in range: Range<Int>) -> Int {
    guard !range.isEmpty, !words.isEmpty else { return 0 }
    let first = range.lowerBound / 64
    let last = (range.upperBound - 1) / 64
    let fromLower = ~0 << UInt64(range.lowerBound % 64) as UInt64
    let toUpper = ~0 >> UInt64(63 - (range.upperBound - 1) % 64) as UInt64
    if first == last { return (words[first] & fromLower & toUpper).nonzeroBitCount }
    var count = (words[first] & fromLower).nonzeroBitCount
    // Most words are 0, and without the instruction counting bits takes a dozen others.
    for word in first + 1..<last where words[word] != 0 { count += words[word].nonzeroBitCount }
    return count + (words[last] & toUpper).nonzeroBitCount
  }

  /// The number of the slot that has `offset` slots outside the set between `start` and itself. It
  /// must be there.
  ///
  /// - Complexity: O(*n* / 64), where *n* is the distance.
  @inlinable
  func number(ofFree offset: Int, from start: Int) -> Int {
    guard !words.isEmpty else { return start + offset }
    var rest = offset
    var word = start / 64
    var free = ~words[word] & (~0 << UInt64(start % 64))
    var freeCount = free.nonzeroBitCount
    while rest >= freeCount {
      rest -= freeCount
      word += 1
      free = ~words[word]
      freeCount = free == ~0 ? 64 : free.nonzeroBitCount
    }
    for _ in 0..<rest { free &= free - 1 }
    return word * 64 + free.trailingZeroBitCount
  }
}
