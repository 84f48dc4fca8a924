/// The stores of a cache that nobody uses, by when they were used last.
struct UnusedStores {
  /// How long a store stays, and what tells when that is over.
  struct Stay {
    let length: Duration
    let schedule: TurnSchedule
  }

  private struct Use {
    weak let store: (any ErasedQueryStore)?
    let key: ObjectIdentifier
    let number: Int
  }

  /// All uses, the oldest first; a store's last one counts.
  private var uses = [Use]()
  /// Where the oldest use is.
  private var start = 0
  /// The number of each store's last use, and its stay if that is limited.
  private var latest = [ObjectIdentifier: (number: Int, stay: Stay?)]()
  private var number = 0

  var count: Int { self.latest.count }

  /// Records the last use of a store that nobody uses any more.
  mutating func use(_ store: any ErasedQueryStore, _ stay: Stay? = nil) {
    self.number += 1
    let key = ObjectIdentifier(store)
    self.latest[key] = (self.number, stay)
    self.uses.append(Use(store: store, key: key, number: self.number))
    // Each use is moved as often as one is added, so that a use costs the same however many there are.
    if self.uses.count > 2 * self.latest.count + 64 {
      self.uses = self.uses[self.start...].filter { self.latest[$0.key]?.number == $0.number }
      self.start = 0
    }
  }

  /// Records that somebody asked for a store, if it is among these.
  ///
  /// - Returns: Its stay, which begins anew.
  mutating func touch(_ store: any ErasedQueryStore) -> Stay? {
    guard let (_, stay) = self.latest[ObjectIdentifier(store)] else { return nil }
    self.use(store, stay)
    return stay
  }

  /// Forgets a store: it is used, or not in the cache any more.
  ///
  /// - Returns: Its stay, which is over.
  @discardableResult
  mutating func forget(_ store: any ErasedQueryStore) -> Stay? {
    self.latest.removeValue(forKey: ObjectIdentifier(store))?.stay
  }

  /// Takes the stores off that were used least recently, until no more than a number are left.
  mutating func takeOldest(leaving limit: Int) -> [any ErasedQueryStore] {
    var oldest = [any ErasedQueryStore]()
    while self.count > limit, self.start < self.uses.count {
      let use = self.uses[self.start]
      self.start += 1
      guard self.latest[use.key]?.number == use.number else { continue }
      self.latest[use.key] = nil
      if let store = use.store { oldest.append(store) }
    }
    return oldest
  }
}
