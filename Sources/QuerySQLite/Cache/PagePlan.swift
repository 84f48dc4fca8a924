import FoundationEssentials

/// The writes that turn the stored pages into the wanted ones, as few as possible.
///
/// A page that stays keeps its position, so that one inserted before it does not move it. Positions
/// have gaps; if one is used up, or pages changed places, all are written with new ones.
struct PagePlan: Equatable {
  /// A stored page.
  struct Stored: Equatable {
    var position: Int64
    var checksum: XXH128
    var pageID: Data
  }

  /// A wanted page.
  struct Wanted: Equatable {
    var checksum: XXH128
    var pageID: Data
  }

  /// A page to write.
  struct Write: Equatable {
    var position: Int64
    /// Its index among the wanted pages.
    var index: Int
  }

  /// The positions of the pages to delete, before anything is written.
  private(set) var deletions = [Int64]()

  /// The pages to write, each replacing any page at its position.
  private(set) var writes = [Write]()

  /// Makes the plan.
  ///
  /// - Parameters:
  ///   - stored: The stored pages, by position.
  ///   - wanted: The wanted pages, in order.
  /// - Complexity: O(*n*) in the number of both.
  init(from stored: [Stored], to wanted: [Wanted]) {
    guard let places = Self.places(of: wanted, in: stored),
      let positions = Self.positions(places.map { $0.map { stored[$0].position } })
    else {
      self.deletions = stored.map(\.position)
      self.writes = wanted.indices.map { Write(position: Int64($0) * PageRow.gap, index: $0) }
      return
    }
    let kept = Set(places.compactMap(\.self))
    for (index, page) in stored.enumerated() where !kept.contains(index) {
      self.deletions.append(page.position)
    }
    for (index, page) in wanted.enumerated() {
      if let place = places[index], stored[place].checksum == page.checksum { continue }
      self.writes.append(Write(position: positions[index], index: index))
    }
  }

  /// The indices of the wanted pages among the stored ones; nil if one would have to move.
  private static func places(of wanted: [Wanted], in stored: [Stored]) -> [Int?]? {
    var numbers = [Data: Int]()
    for (index, page) in stored.enumerated() { numbers[page.pageID] = index }
    var last = -1
    var places = [Int?]()
    places.reserveCapacity(wanted.count)
    for page in wanted {
      let place = numbers[page.pageID]
      if let place {
        // Also if an ID occurs twice.
        if place <= last { return nil }
        last = place
      }
      places.append(place)
    }
    return places
  }

  /// Gives a position to each page without one; nil if the gaps are too small.
  private static func positions(_ kept: [Int64?]) -> [Int64]? {
    var positions = [Int64]()
    positions.reserveCapacity(kept.count)
    var index = 0
    while index < kept.count {
      if let position = kept[index] {
        positions.append(position)
        index += 1
        continue
      }
      let end = kept[index...].firstIndex { $0 != nil } ?? kept.count
      let upper = end < kept.count ? kept[end] : nil
      guard let added = self.between(positions.last, upper, count: end - index) else { return nil }
      positions += added
      index = end
    }
    return positions
  }

  /// Positions for pages inserted between two others, or at an end.
  private static func between(_ lower: Int64?, _ upper: Int64?, count: Int) -> [Int64]? {
    // Only a damaged file has positions near the ends of the range.
    let range = (Int64.min / 4)...(Int64.max / 4)
    guard [lower, upper].allSatisfy({ $0.map(range.contains) ?? true }),
      Int64(count) < range.upperBound / PageRow.gap
    else { return nil }
    var start = lower ?? -PageRow.gap
    var step = PageRow.gap
    if let upper, let lower {
      step = (upper - lower) / Int64(count + 1)
      if step < 1 { return nil }
    } else if let upper {
      start = upper - Int64(count + 1) * step
    }
    return (1...count).map { start + Int64($0) * step }
  }
}
