import Query

/// In which order the mutations of an outbox would be sent now, if each succeeded.
struct SendingPlan {
  /// Those that would be sent, the first one first.
  private(set) var order = [OutboxEntry]()
  /// How many of those that this program sends would go on waiting, by their wait reason.
  private(set) var waiting = [String: Int]()

  /// - Parameters:
  ///   - entries: The live mutations, and the dead ones that halt their lanes, in the order of
  ///     enqueueing. That is the order of sending too, where priorities do not say otherwise: the lowest
  ///     number that may run goes first, and what is behind another one in its lane has a higher number.
  ///   - dependencies: Pairs of numbers: the lower mutation must succeed before the higher one.
  ///   - canSend: Whether this program has a handler for one.
  init(
    _ entries: [OutboxEntry], dependencies: [Int: Set<Int>] = [:],
    canSend: (OutboxEntry) -> Bool
  ) {
    var sent = Set<Int>()
    // What the first row that stays says about those behind it in its lane.
    var held = [String: String]()
    for entry in entries {
      let isOwn = canSend(entry)
      let missing = dependencies[entry.number]?.subtracting(sent)
      let obstacle = entry.lane.flatMap { held[$0] } ?? Self.obstacle(entry, missing, isOwn)
      guard let obstacle else {
        sent.insert(entry.number)
        self.order.append(entry)
        continue
      }
      if let lane = entry.lane, held[lane] == nil { held[lane] = "predecessor" }
      if isOwn, entry.state == .pending { self.waiting[obstacle, default: 0] += 1 }
    }
    self.sort(dependencies)
  }

  /// Lets what is more urgent go first, where neither a lane nor a dependency forbids it.
  private mutating func sort(_ dependencies: [Int: Set<Int>]) {
    guard Set(self.order.map(\.priority)).count > 1 else { return }
    var queue = SendingQueue(self.order, dependencies: dependencies)
    self.order = []
    while let entry = queue.next() { self.order.append(entry) }
  }

  /// Leaves out what the options exclude.
  mutating func keep(lane: String?, maximum: Int?) {
    if let lane { self.order.removeAll { $0.lane != lane } }
    if let maximum { self.order = Array(self.order.prefix(maximum)) }
  }

  /// What keeps the first row of a lane waiting; nil if nothing does.
  ///
  /// - Parameters:
  ///   - entry: The row.
  ///   - missing: The row it depends on and that is not sent before it; nil if it depends on none.
  ///   - isOwn: Whether this program has a handler for it.
  private static func obstacle(
    _ entry: OutboxEntry, _ missing: Set<Int>?, _ isOwn: Bool
  ) -> String? {
    switch entry.state {
    case .leased, .dead: return entry.state.rawValue
    case .pending: break
    }
    if !isOwn { return MutationWaitReason.handler.rawValue }
    if let missing, !missing.isEmpty { return MutationWaitReason.dependency.rawValue }
    switch entry.waitReason {
    // Without an edge it waits for an alias, and nothing says which row will publish it.
    case .dependency where missing != nil: return nil
    // Each new replayer tries once what waits for credentials or for the network; the other rows are this
    // replayer's to send.
    case nil, .authentication, .handler, .offline, .predecessor: return nil
    case .backoff where entry.isUnreached: return nil
    case .backoff, .dependency, .paused, .retryAfter, .scheduled:
      return entry.waitReason?.rawValue
    }
  }
}
