import Query
import TestSupport

/// What the store of a ``PagesQuery`` does, in the plainest words: arrays, and no concurrency.
struct InfiniteQueryModel {
  enum Kind: CaseIterable { case plain, all, next, previous }

  /// What is compared.
  struct Snapshot: Equatable {
    var pages = [TestPage]()
    var nextId: Int?
    var previousId: Int?
    var valueCount = 0
    var errorCount = 0
    var error: String?
    var active = [[QueryTaskIdentifier](), [], [], []]
  }

  /// The part of a fetch that runs.
  private enum Work {
    case initial
    case next(Int, first: Int, last: Int)
    case previous(Int, first: Int, last: Int)
    case all(id: Int, done: [TestPage], count: Int, last: Int)

    var id: Int {
      switch self {
      case .initial: 1
      case .next(let id, _, _), .previous(let id, _, _), .all(let id, _, _, _): id
      }
    }

    /// Works of one group may run side by side.
    var group: Int {
      switch self {
      case .initial: 0
      case .all: 1
      case .next, .previous: 2
      }
    }
  }

  private struct Fetch {
    let kind: Kind
    let dependencies: Set<QueryTaskIdentifier>
    var work: Work?
  }

  /// The list that the yields of a refetch have replaced.
  private struct Replaced {
    var refetch: QueryTaskIdentifier
    var before: Snapshot
    /// The number of values with the last yield.
    var valueCount: Int
  }

  static let limits = -4...6

  private(set) var snapshot = Snapshot()
  private(set) var events: [ObservedEvent] = [.stateChanged]
  private var fetches = [QueryTaskIdentifier: Fetch]()
  private var abandoned = [QueryTaskIdentifier: Int]()
  private var replaced: Replaced?

  private static func after(_ id: Int) -> Int? { id < Self.limits.upperBound ? id + 1 : nil }
  private static func before(_ id: Int) -> Int? { id > Self.limits.lowerBound ? id - 1 : nil }
}

// MARK: - Questions

extension InfiniteQueryModel {
  /// The fetches that would not have to wait if they were started now.
  var startable: [QueryTaskIdentifier] {
    let groups = Set(self.fetches.values.compactMap { $0.work?.group })
    let waiting = self.fetches.filter { $0.value.work == nil }
    return waiting.filter { _, fetch in
      guard fetch.dependencies.isDisjoint(with: self.fetches.keys) else { return false }
      guard let group = self.group(of: fetch.kind) else { return true }
      return groups.isSubset(of: [group])
    }
    .map(\.key)
  }

  private func group(of kind: Kind) -> Int? {
    // A refetch begins with the list that another one has replaced, which may be empty.
    let isEmpty = self.pages(for: kind).isEmpty
    return switch kind {
    case .plain: isEmpty ? 0 : 1
    case .all: 1
    case .next: isEmpty ? 0 : self.snapshot.nextId.map { _ in 2 }
    case .previous: isEmpty ? 0 : self.snapshot.previousId.map { _ in 2 }
    }
  }

  var runningIds: [QueryTaskIdentifier] { self.fetches.filter { $0.value.work != nil }.map(\.key) }

  /// Fetches that a reset left behind.
  var abandonedIds: [QueryTaskIdentifier] { Array(self.abandoned.keys) }

  func canSchedule(_ kind: Kind) -> Bool {
    switch kind {
    case .plain, .all: true
    case .next: self.snapshot.pages.isEmpty || self.snapshot.nextId != nil
    case .previous: self.snapshot.pages.isEmpty || self.snapshot.previousId != nil
    }
  }
}

// MARK: - Fetches

extension InfiniteQueryModel {
  // The lists of active tasks: all pages, initial, next, previous.
  mutating func schedule(_ kind: Kind, as id: QueryTaskIdentifier) {
    let isEmpty = self.snapshot.pages.isEmpty
    let (list, waitsFor): (Int, [Int]) =
      switch kind {
      case .all: (0, [1, 2, 3])
      case .plain: isEmpty ? (1, []) : (0, [1, 2, 3])
      case .next: isEmpty ? (1, [1]) : (2, [0, 1])
      case .previous: isEmpty ? (1, [1]) : (3, [0, 1])
      }
    var dependencies = Set(waitsFor.flatMap { self.snapshot.active[$0] })
    // The same call twice is the initial page twice.
    if list == 1 { dependencies = dependencies.filter { self.fetches[$0]?.kind != kind } }
    self.fetches[id] = Fetch(kind: kind, dependencies: dependencies)
    self.snapshot.active[list].append(id)
    self.events.append(.stateChanged)
  }

  /// - Returns: Whether the fetch is over already.
  mutating func start(_ id: QueryTaskIdentifier) -> Bool {
    guard let kind = self.fetches[id]?.kind else { return true }
    self.events.append(.fetchingStarted)
    let pages = self.pages(for: kind)
    guard let first = pages.first?.id, let last = pages.last?.id else {
      if kind == .all { return self.finish(id) { $0.replace(with: [], loadedLast: nil) } }
      return self.begin(.initial, of: id)
    }
    switch kind {
    case .plain, .all:
      return self.begin(.all(id: first, done: [], count: pages.count, last: last), of: id)
    case .next:
      guard let next = self.snapshot.nextId else { return self.finish(id) { _ in } }
      return self.begin(.next(next, first: first, last: last), of: id)
    case .previous:
      guard let previous = self.snapshot.previousId else { return self.finish(id) { _ in } }
      return self.begin(.previous(previous, first: first, last: last), of: id)
    }
  }

  /// What a fetch begins with: a refetch with the list that another one has replaced by its first pages.
  private func pages(for kind: Kind) -> [TestPage] {
    guard kind == .plain || kind == .all, let replaced = self.replaced,
      replaced.valueCount == self.snapshot.valueCount
    else { return self.snapshot.pages }
    return replaced.before.pages
  }

  private mutating func begin(_ work: Work, of id: QueryTaskIdentifier) -> Bool {
    self.fetches[id]?.work = work
    self.events.append(.pageStarted("\(work.id)"))
    return false
  }

  mutating func yield(_ result: Result<Int, TestError>, to id: QueryTaskIdentifier) {
    guard let fetch = self.fetches[id], let work = fetch.work else { return }
    switch result {
    case .success(let value):
      self.events.append(.pageYielded("\(work.id)", "\(value)"))
      if case .all = work { self.keepReplaced(by: id) }
      self.merge(TestPage(id: work.id, value: value), of: work)
    case .failure(let error):
      self.events.append(.pageYielded("\(work.id)", "\(error)"))
      self.fail("\(error)")
    }
    self.events.append(.stateChanged)
  }

  /// - Returns: Whether the fetch is over.
  mutating func end(_ id: QueryTaskIdentifier, with result: Result<Int, TestError>) -> Bool {
    if let page = self.abandoned.removeValue(forKey: id) {
      self.events += [.pageEnded("\(page)"), .fetchingEnded]
      return true
    }
    guard let fetch = self.fetches[id], let work = fetch.work else { return true }
    let page: TestPage
    switch result {
    case .success(let value):
      page = TestPage(id: work.id, value: value)
      self.events += [.pageReturned("\(work.id)", "\(value)"), .pageEnded("\(work.id)")]
    case .failure(let error):
      self.events += [.pageReturned("\(work.id)", "\(error)"), .pageEnded("\(work.id)")]
      self.putBackReplaced(by: id)
      self.fail("\(error)")
      self.finish(id, reporting: "\(error)")
      return true
    }
    if case .all(_, let done, let count, let last) = work, done.count + 1 < count,
      let next = Self.after(work.id)
    {
      return self.begin(.all(id: next, done: done + [page], count: count, last: last), of: id)
    }
    return self.finish(id) { $0.merge(page, of: work) }
  }

  private mutating func finish(
    _ id: QueryTaskIdentifier,
    update: (inout InfiniteQueryModel) -> Void
  ) -> Bool {
    update(&self)
    self.finish(id, reporting: "\(self.snapshot.pages.map(\.value))")
    return true
  }

  private mutating func finish(_ id: QueryTaskIdentifier, reporting text: String) {
    self.remove(id)
    self.events += [.returned(text), .stateChanged, .fetchingEnded]
  }

  private mutating func remove(_ id: QueryTaskIdentifier) {
    self.fetches[id] = nil
    if self.replaced?.refetch == id { self.replaced = nil }
    for list in self.snapshot.active.indices { self.snapshot.active[list].removeAll { $0 == id } }
  }
}

// MARK: - The state

extension InfiniteQueryModel {
  private mutating func merge(_ page: TestPage, of work: Work) {
    let ids = self.snapshot.pages.map(\.id)
    switch work {
    case .all(_, let done, _, let last):
      return self.replace(with: done + [page], loadedLast: last)
    case .initial:
      self.insert(page, at: ids.count)
      self.renewIds(after: 1, before: 1)
    case .next(_, let first, let last):
      guard let index = ids.firstIndex(of: last) else { break }
      self.insert(page, at: index + 1)
      self.renewIds(after: page.id, before: first, next: page.id)
    case .previous(_, let first, let last):
      guard let index = ids.firstIndex(of: first) else { break }
      self.insert(page, at: index)
      self.renewIds(after: last, before: page.id, previous: page.id)
    }
    self.succeed()
  }

  private mutating func keepReplaced(by refetch: QueryTaskIdentifier) {
    let isOlder = self.replaced?.valueCount == self.snapshot.valueCount
    self.replaced = Replaced(
      refetch: refetch, before: isOlder ? self.replaced?.before ?? self.snapshot : self.snapshot,
      valueCount: self.snapshot.valueCount + 1)
  }

  private mutating func putBackReplaced(by refetch: QueryTaskIdentifier) {
    guard let replaced = self.replaced, replaced.refetch == refetch,
      replaced.valueCount == self.snapshot.valueCount
    else { return }
    self.snapshot.pages = replaced.before.pages
    self.snapshot.nextId = replaced.before.nextId
    self.snapshot.previousId = replaced.before.previousId
  }

  private mutating func insert(_ page: TestPage, at index: Int) {
    if let present = self.snapshot.pages.firstIndex(where: { $0.id == page.id }) {
      self.snapshot.pages[present] = page
    } else {
      self.snapshot.pages.insert(page, at: index)
    }
  }

  private mutating func replace(with pages: [TestPage], loadedLast: Int?) {
    let old = self.snapshot.pages
    self.snapshot.pages = pages
    if pages.last?.id == loadedLast, let index = old.firstIndex(where: { $0.id == loadedLast }) {
      let ids = pages.map(\.id)
      self.snapshot.pages += old[(index + 1)...].filter { !ids.contains($0.id) }
    }
    self.renewIds(after: pages.last?.id, before: pages.first?.id)
    self.succeed()
  }

  /// - Parameters:
  ///   - next: The page that was asked for as the next one.
  ///   - previous: The page that was asked for as the previous one.
  private mutating func renewIds(
    after last: Int?, before first: Int?, next: Int? = nil, previous: Int? = nil
  ) {
    if self.snapshot.pages.last?.id == last || next.map({ $0 == self.snapshot.nextId }) == true {
      self.snapshot.nextId = last.flatMap(Self.after)
    }
    if self.snapshot.pages.first?.id == first
      || previous.map({ $0 == self.snapshot.previousId }) == true
    {
      self.snapshot.previousId = first.flatMap(Self.before)
    }
  }

  private mutating func succeed() {
    self.snapshot.valueCount += 1
    self.snapshot.error = nil
  }

  private mutating func fail(_ error: String) {
    self.snapshot.errorCount += 1
    self.snapshot.error = error
  }

  mutating func set(_ pages: TestPages) {
    self.snapshot.pages = Array(pages)
    self.succeed()
    self.events.append(.stateChanged)
  }

  mutating func cancel(_ id: QueryTaskIdentifier) {
    self.fail("\(CancellationError())")
    self.remove(id)
    self.events.append(.stateChanged)
  }

  mutating func reset() {
    for (id, fetch) in self.fetches { if let work = fetch.work { self.abandoned[id] = work.id } }
    self.fetches = [:]
    self.snapshot = Snapshot()
    self.replaced = nil
    self.events.append(.stateChanged)
  }
}

extension InfiniteQueryModel.Snapshot {
  init(_ state: TestPagesState) {
    self.pages = Array(state.currentValue)
    self.nextId = state.nextPageId
    self.previousId = state.previousPageId
    self.valueCount = state.valueUpdateCount
    self.errorCount = state.errorUpdateCount
    self.error = state.error.map { "\($0)" }
    self.active = [
      state.allPagesActiveTasks.ids, state.initialPageActiveTasks.ids,
      state.nextPageActiveTasks.ids, state.previousPageActiveTasks.ids,
    ]
  }
}
