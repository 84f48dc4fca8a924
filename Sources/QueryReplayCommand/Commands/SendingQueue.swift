import Query

/// Mutations that can all be sent, taken in the order in which claims would take them.
///
/// What is free stands in a heap for each priority, so that each step looks at no more than the first of
/// each, however many wait.
struct SendingQueue {
  private let entries: [OutboxEntry]
  /// The free ones, by their places in ``entries``.
  private var free = [MutationPriority: PlaceHeap]()
  /// Those of each lane that are not free yet, the last one first.
  private var lanes = [String: [Int]]()
  /// For how many others each waits: the one before it in its lane, and those it depends on.
  private var obstacles: [Int]
  private var dependants = [Int: [Int]]()
  private var turns = ClaimTurns()
  /// How often it compared two of them.
  private(set) var comparisons = 0

  /// - Parameters:
  ///   - entries: The mutations, in the order of enqueueing.
  ///   - dependencies: Pairs of numbers: the lower mutation must succeed before the higher one. What is
  ///     not among the entries counts as done.
  init(_ entries: [OutboxEntry], dependencies: [Int: Set<Int>]) {
    self.entries = entries
    self.obstacles = Array(repeating: 0, count: entries.count)
    let numbers = Set(entries.map(\.number))
    for (place, entry) in entries.enumerated() {
      for number in dependencies[entry.number] ?? [] where numbers.contains(number) {
        self.dependants[number, default: []].append(place)
        self.obstacles[place] += 1
      }
      guard let lane = entry.lane else { continue }
      if self.lanes[lane] == nil { self.lanes[lane] = [] } else { self.obstacles[place] += 1 }
      self.lanes[lane]?.append(place)
    }
    for lane in self.lanes.keys {
      self.lanes[lane]?.reverse()
      self.lanes[lane]?.removeLast()
    }
    for place in entries.indices where self.obstacles[place] == 0 { self.insert(place) }
  }

  /// Takes the next one; nil if none is left.
  mutating func next() -> OutboxEntry? {
    let candidates = self.free.values.compactMap(\.first)
    self.comparisons += candidates.count
    let next = self.turns.next(of: candidates) { place in
      ClaimOrder(
        number: Int64(self.entries[place].number), isRepeat: false, dueBoottime: 0,
        priority: self.entries[place].priority, host: "", HostSlots(others: 1))
    }
    guard let next else { return nil }
    self.turns = next.turns
    let entry = self.entries[next.candidate]
    self.comparisons += self.free[entry.priority]?.removeFirst() ?? 0
    if let behind = entry.lane.flatMap({ self.lanes[$0]?.popLast() }) { self.release(behind) }
    for dependant in self.dependants[entry.number] ?? [] { self.release(dependant) }
    return entry
  }

  private mutating func release(_ place: Int) {
    self.obstacles[place] -= 1
    if self.obstacles[place] == 0 { self.insert(place) }
  }

  private mutating func insert(_ place: Int) {
    let priority = self.entries[place].priority
    self.comparisons += self.free[priority, default: PlaceHeap()].insert(place)
  }
}

/// Places, of which the lowest is at hand.
private struct PlaceHeap {
  private var places = [Int]()

  var first: Int? { self.places.first }

  /// - Returns: How many comparisons it took.
  mutating func insert(_ place: Int) -> Int {
    self.places.append(place)
    var (child, comparisons) = (self.places.count - 1, 0)
    while child > 0 {
      let parent = (child - 1) / 2
      comparisons += 1
      if self.places[parent] <= self.places[child] { break }
      self.places.swapAt(parent, child)
      child = parent
    }
    return comparisons
  }

  /// - Returns: How many comparisons it took.
  mutating func removeFirst() -> Int {
    guard let last = self.places.popLast(), !self.places.isEmpty else { return 0 }
    self.places[0] = last
    var (parent, comparisons) = (0, 0)
    while true {
      let children = (2 * parent + 1)..<min(2 * parent + 3, max(2 * parent + 1, self.places.count))
      guard let least = children.min(by: { self.places[$0] < self.places[$1] }) else { break }
      comparisons += children.count
      if self.places[parent] <= self.places[least] { break }
      self.places.swapAt(parent, least)
      parent = least
    }
    return comparisons
  }
}
