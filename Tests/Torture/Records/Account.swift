/// Holds what workers were told against what the server has received and what is in the files.
///
/// It is plain data, so that a test can feed it with what must not be.
struct Account: Sendable {
  /// What workers were told.
  var acknowledged = Acknowledgements()
  /// What the server has received, in the order of beginning.
  var attempts = [Attempt]()
  /// What is in the files.
  var found = FoundState()
  /// What was done to the workers.
  var disturbances = Disturbances()
  /// The length of a lease.
  var lease: Moment
  /// Whether all that was live was sent before the files were looked at.
  var isDrained = false

  /// What is not as it was promised, each in a sentence; empty: all is well.
  func breaches() -> [String] {
    // An audit that did not finish has not seen all that is there.
    let missing = self.found.isWhole ? self.lost() + self.values() : []
    return missing + self.keys() + self.dead() + self.order() + self.overlaps() + self.damage()
      + self.complaints()
  }
}

// MARK: - Files and errors

extension Account {
  private func damage() -> [String] {
    self.found.isWhole
      ? self.found.damage
      : self.found.damage + ["the audit failed: nobody has looked for what was acknowledged"]
  }

  private func complaints() -> [String] {
    let complaints = self.acknowledged.complaints.filter { !self.disturbances.excuse($0) }
    return Dictionary(grouping: complaints) { "code \($0.code): \($0.text)" }
      .map { what, all in
        let first = all.map { ($0.moment, $0.process) }.min(by: <) ?? (0, "")
        return "told \(all.count) times, first to \(first.1) at \(first.0), \(what)"
      }
      .sorted()
  }
}

// MARK: - Mutations

extension Account {
  /// Nothing that was acknowledged is neither sent nor live nor dead.
  private func lost() -> [String] {
    let known = Set(self.attempts.map(\.mutation)).union(self.found.rows.map(\.mutation))
    var breaches = self.acknowledged.mutations.keys.filter { !known.contains($0) }
      .map { "lost: \($0) was acknowledged, was never sent, and is not in the outbox" }
    if self.isDrained {
      breaches += self.found.rows.filter { !$0.isDead }
        .map { "stuck: \($0.mutation) is \($0.standing) though all was to be sent" }
    }
    return breaches.sorted()
  }

  /// No mutation goes by two keys, and no key stands for two mutations.
  private func keys() -> [String] {
    var keys = [SentMutation: Set<String>]()
    for attempt in self.attempts { keys[attempt.mutation, default: []].insert(attempt.key) }
    for row in self.found.rows { keys[row.mutation, default: []].insert(row.key) }
    for case (let mutation, let key?) in self.acknowledged.mutations {
      keys[mutation, default: []].insert(key)
    }
    var breaches = keys.filter { $0.value.count > 1 }
      .map { "twice: \($0.key) goes by the keys \($0.value.sorted().joined(separator: ", "))" }
    var mutations = [String: SentMutation]()
    for (mutation, keys) in keys {
      for key in keys {
        if let other = mutations.updateValue(mutation, forKey: key) {
          breaches.append("the key \(key) stands for \(mutation) and \(other)")
        }
      }
    }
    let rows = Dictionary(grouping: self.found.rows, by: \.mutation).filter { $0.value.count > 1 }
    breaches += rows.map { "twice: \($0.key) has \($0.value.count) rows" }
    return breaches.sorted()
  }

  /// What is dead has a reason that the bench has given.
  private func dead() -> [String] {
    self.found.rows.filter { row in
      guard row.isDead else { return false }
      return switch row.standing {
      case "rejected": !row.mutation.isRefused
      case "crashLoop": self.disturbances.kills == 0
      default: true
      }
    }
    .map { "dead: \($0.mutation) for no reason of the bench: \($0.standing)" }
  }

  /// In each lane the mutations of one writer begin in the order in which they were enqueued.
  private func order() -> [String] {
    struct Queue: Hashable {
      let lane: String
      let writer: String
    }
    var latest = [Queue: Int]()
    var seen = Set<SentMutation>()
    var breaches = [String]()
    for attempt in self.attempts where seen.insert(attempt.mutation).inserted {
      let mutation = attempt.mutation
      let queue = Queue(lane: mutation.lane, writer: mutation.writer)
      if let last = latest[queue], mutation.number < last {
        breaches.append("order: \(mutation) was first sent after number \(last) of its lane")
      }
      latest[queue] = max(latest[queue] ?? 0, mutation.number)
    }
    return breaches
  }

  /// In no lane two attempts run at a time, unless a process did not move for longer than its
  /// lease.
  private func overlaps() -> [String] {
    var breaches = [String]()
    for attempts in Dictionary(grouping: self.attempts, by: \.mutation.lane).values {
      var earlier: Attempt?
      for attempt in attempts.sorted(by: { $0.began < $1.began }) {
        if let earlier, self.end(of: earlier) > attempt.began,
          !self.disturbances.mayHaveEndedLeases(
            from: earlier.began, to: attempt.began, lease: self.lease)
        {
          breaches.append(
            """
            at one time: \(attempt.mutation) by \(attempt.process) began at \(attempt.began), while \
            \(earlier.process) had not ended \(earlier.mutation), which it began at \(earlier.began)
            """)
        }
        if earlier.map({ self.end(of: $0) < self.end(of: attempt) }) ?? true { earlier = attempt }
      }
    }
    return breaches.sorted()
  }

  private func end(of attempt: Attempt) -> Moment {
    attempt.ended ?? self.disturbances.ends[attempt.process] ?? .max
  }
}

// MARK: - Values

extension Account {
  /// Each value that was flushed is there, in that version or a newer one.
  private func values() -> [String] {
    self.acknowledged.values.compactMap { name, version in
      switch self.found.values[name] {
      case nil: "value \(name) of version \(version) was flushed, and is not there"
      case let found? where found < version:
        "value \(name) of version \(version) was flushed, and is there in version \(found)"
      default: nil
      }
    }
    .sorted()
  }
}
