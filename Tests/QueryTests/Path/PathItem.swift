import Query

/// An element whose equality goes beyond its path.
struct PathItem: QueryPathable, Hashable, Sendable {
  let path: QueryPath
  let value: Int

  init(_ path: QueryPath, _ value: Int = 0) {
    self.path = path
    self.value = value
  }
}

/// A path element whose values all have one hash.
struct CollidingStep: Hashable, Sendable {
  let id: Int

  init(_ id: Int) {
    self.id = id
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(0)
  }
}

/// Counts the elements that are alive.
final class PathCounter {
  var value = 0
}

final class CountedPathItem: QueryPathable {
  let path: QueryPath
  private let live: PathCounter

  init(_ path: QueryPath, in live: PathCounter) {
    self.path = path
    self.live = live
    live.value += 1
  }

  deinit {
    live.value -= 1
  }
}

/// A generator of the same numbers in every run.
struct PathRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    self.state = seed
  }

  // SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

extension QueryPath {
  /// A path of up to four elements out of few, so that many paths share prefixes and hashes.
  static func random(using generator: inout PathRandom) -> QueryPath {
    let length = [0, 1, 1, 1, 2, 2, 3, 4].randomElement(using: &generator) ?? 0
    return QueryPath(elements: (0..<length).map { _ in Element.random(using: &generator) })
  }
}

extension QueryPath.Element {
  fileprivate static func random(using generator: inout PathRandom) -> Self {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: Self(CollidingStep(.random(in: 0..<5, using: &generator)))
    case 1: Self(["a", "b", "c"].randomElement(using: &generator) ?? "")
    case 2: Self(Double(Int.random(in: 0..<4, using: &generator)))
    case 3...5: Self(Int.random(in: 0..<4, using: &generator))
    default: Self(Int.random(in: 0..<200, using: &generator))
    }
  }
}
