import Glibc
import Synchronization

/// Random bits of the kernel, fetched for several identifiers at a time: a call for each takes longer
/// than the rest of making one.
struct RandomBits {
  static let shared = {
    // A child must not use again what its parent has.
    pthread_atfork(nil, nil) { RandomBits.forks.add(1, ordering: .relaxed) }
    return Locked(RandomBits())
  }()

  /// How often a process forked, up to this one.
  private static let forks = Atomic(0)

  // As many as `getentropy` gives at a time.
  private var words = InlineArray<32, UInt64>(repeating: 0)
  private var left = 0
  private var forksBefore = 0

  /// Bits that nobody else gets.
  mutating func next() -> (UInt64, UInt64) {
    if self.left < 2 || self.forksBefore != Self.forks.load(ordering: .relaxed) {
      guard self.fetch() else {
        // A sandbox forbids it; the generator has its own way.
        var generator = SystemRandomNumberGenerator()
        return (generator.next(), generator.next())
      }
    }
    self.left -= 2
    defer { (self.words[self.left], self.words[self.left + 1]) = (0, 0) }
    return (self.words[self.left], self.words[self.left + 1])
  }

  private mutating func fetch() -> Bool {
    self.left = 0
    self.forksBefore = Self.forks.load(ordering: .relaxed)
    let isFetched = withUnsafeMutableBytes(of: &self.words) {
      getentropy($0.baseAddress, $0.count) == 0
    }
    if isFetched { self.left = self.words.count }
    return isFetched
  }
}
