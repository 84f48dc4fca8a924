import StorageTestSupport

/// What must be in a store, and what may be, by the marks that a workload has left in the record up to
/// the moment of a power cut or a kill.
struct StoreTruth {
  struct Mutation {
    let account: String
    let id: String
    let name: String
    /// Whether the caller was told that it is kept.
    var isAcknowledged = false
    /// Whether the server has it.
    var isSent = false
    /// Whether the caller was told that this is kept.
    var isSettled = false
    /// Whether it is in what is imported.
    var isOffered = false
    var erasing = Erasing.no
  }

  enum Erasing {
    case no, begun, done
  }

  /// What was done to the values, in the order of the commits.
  enum ValueChange {
    case set([(key: String, version: String)])
    case remove(String)
    case erase(account: String)
    /// The file was damaged.
    case lose
  }

  private(set) var mutations = [Mutation]()
  private(set) var values = [ValueChange]()
  /// So many of the changes of values must be there.
  private(set) var durableValues = 0
  /// So many of them were committed.
  private var flushedValues = 0
  private(set) var isDamaged = false

  /// Whether a commit of a value is durable when it is flushed.
  private let isFull: Bool

  init(_ operations: some Sequence<FileRecord.Operation>, isFull: Bool) {
    self.isFull = isFull
    for operation in operations {
      switch operation.kind {
      case .mark: self.add(operation.path.split(separator: " ").map(String.init))
      // A checkpoint begins with it: what the log has is there again after a power cut.
      case .sync where operation.path.hasSuffix("/cache.sqlite-wal"):
        self.durableValues = max(self.durableValues, self.flushedValues)
      default: break
      }
    }
  }

  private mutating func add(_ mark: [String]) {
    switch mark[0] {
    case "enqueue":
      self.mutations.append(Mutation(account: mark[1], id: mark[2], name: mark[3]))
    case "enqueued": self.edit(id: mark[1]) { $0.isAcknowledged = true }
    case "sent": self.edit(id: mark[1]) { $0.isSent = true }
    case "settled": self.edit(id: mark[1]) { $0.isSettled = true }
    case "set": self.values.append(.set([("\(mark[1]) \(mark[2])", mark[3])]))
    case "remove": self.values.append(.remove("\(mark[1]) \(mark[2])"))
    case "flushed":
      self.flushedValues = self.values.count
      if self.isFull { self.durableValues = self.values.count }
    case "closed": self.durableValues = self.values.count
    case "erasing":
      self.values.append(.erase(account: mark[1]))
      self.edit { if $0.account == mark[1] { $0.erasing = .begun } }
    case "erased":
      self.durableValues = self.values.count
      self.edit { if $0.erasing == .begun { $0.erasing = .done } }
    case "damaged":
      self.values.append(.lose)
      self.durableValues = self.values.count
      self.isDamaged = true
    case "damaged-outbox": self.isDamaged = true
    case "exported":
      self.values = [.set(self.values.flatMap(\.pairs))]
      (self.flushedValues, self.durableValues) = (0, 0)
      self.edit { ($0.isOffered, $0.isAcknowledged) = (true, false) }
    case "imported":
      self.durableValues = self.values.count
      self.edit { if $0.isOffered { $0.isAcknowledged = true } }
    default: break
    }
  }

  /// Changes what is known of a mutation; nil: of each.
  private mutating func edit(id: String? = nil, _ body: (inout Mutation) -> Void) {
    for index in self.mutations.indices where id == nil || self.mutations[index].id == id {
      body(&self.mutations[index])
    }
  }
}

extension StoreTruth.ValueChange {
  fileprivate var pairs: [(key: String, version: String)] {
    if case .set(let pairs) = self { pairs } else { [] }
  }

  fileprivate func apply(to values: inout [String: String]) {
    switch self {
    case .set(let pairs): for (key, version) in pairs { values[key] = version }
    case .remove(let key): values[key] = nil
    case .erase(let account): values = values.filter { !$0.key.hasPrefix("\(account) ") }
    case .lose: values = [:]
    }
  }
}

// MARK: - Judging

extension StoreTruth {
  /// What is wrong with what was found, in words.
  func objections(to found: FoundStore) -> [String] {
    var objections = found.wrongs
    if !found.isWhole { objections.append("the launch has not come to its end") }
    for look in found.looks {
      let all =
        self.objectionsToMutations(look) + self.objectionsToValues(look)
        + self.objectionsToProbes(look)
      objections += all.map { "\(look.name): \($0)" }
    }
    return objections
  }

  /// Parts of texts that no file may hold: of mutations, and of values, whose rows are erased for good.
  /// If a cut interrupted `erase()` after its rows were gone, the next launch has finished it.
  func forgottenTexts(in found: FoundStore) -> [String] {
    guard let last = found.looks.last else { return [] }
    let erased = self.mutations.filter { $0.erasing != .no }
    if erased.isEmpty { return [] }
    let isDone = erased.contains { $0.erasing == .done }
    let ids = Set(erased.map(\.id))
    let hasMutations =
      last.live.contains { ids.contains($0.id) } || !ids.isDisjoint(with: last.ended)
    let hasValues = last.values.keys.contains { $0.hasPrefix("gone ") }
    return (isDone || !hasMutations ? ["gone-old", "gone-late"] : [])
      + (isDone || !hasValues ? ["gone-value"] : [])
  }

  private func objectionsToMutations(_ look: FoundStore.Look) -> [String] {
    var objections = [String]()
    let live = Dictionary(look.live.map { ($0.id, $0) }) { first, _ in first }
    if live.count < look.live.count { objections.append("a mutation is there twice") }
    var order = [String: Int]()
    for (place, mutation) in self.mutations.enumerated() {
      order[mutation.id] = place
      let (isLive, isEnded) = (live[mutation.id] != nil, look.ended.contains(mutation.id))
      if let objection = self.objection(
        to: mutation, isLive: isLive, isEnded: isEnded, look.isAfterImport)
      {
        objections.append("\(mutation.name) \(objection)")
      }
    }
    var last = -1
    for row in look.live where !row.text.contains("-probe-") {
      guard let place = order[row.id] else {
        objections.append("\(row.text) is nobody's")
        continue
      }
      if row.text != "\(self.mutations[place].name) 0" { objections.append("\(row) is not whole") }
      if row.state == "dead" { objections.append("\(row.text) is dead") }
      // The accounts are told one after the other, each in the order of its rows.
      if place < last, self.mutations[last].account == row.account {
        objections.append("\(row.text) is out of order")
      }
      last = place
    }
    return objections
  }

  private func objection(
    to mutation: Mutation, isLive: Bool, isEnded: Bool, _ isAfterImport: Bool
  ) -> String? {
    let isThere = isLive || isEnded
    if mutation.erasing == .done { return isThere ? "is back after it was erased" : nil }
    if isLive && isEnded { return "is live and has ended" }
    let isExpected = mutation.isAcknowledged || mutation.isOffered && isAfterImport
    if !isExpected || mutation.erasing == .begun { return nil }
    if mutation.isSettled {
      return isEnded ? nil : "was settled, and \(isLive ? "lives" : "is lost")"
    }
    if mutation.isSent { return isThere ? nil : "is lost after it was sent" }
    return isLive ? nil : "is lost"
  }

  /// The values must be those after some of the commits, at least all that must be there.
  private func objectionsToValues(_ look: FoundStore.Look) -> [String] {
    let least = look.isAfterImport ? self.values.count : self.durableValues
    var values = [String: String]()
    for change in self.values.prefix(least) { change.apply(to: &values) }
    let expected = values
    if look.values == values { return [] }
    for change in self.values.dropFirst(least) {
      change.apply(to: &values)
      if look.values == values { return [] }
    }
    return ["the values are \(look.values), and not \(expected) or what followed"]
  }

  /// What a launch has written is found by the looks after it.
  private func objectionsToProbes(_ look: FoundStore.Look) -> [String] {
    let probes =
      switch look.name {
      case "first-written", "second": ["first"]
      case "second-written": ["first", "second"]
      default: [String]()
      }
    let texts = Set(look.live.map(\.text))
    return Set(look.live.map(\.account)).sorted().flatMap { account in
      probes.filter { !texts.contains("\(account)-probe-\($0) 0") }
        .map { "what launch \($0) has written to \(account) is lost" }
    }
  }
}
