/// One call that sends several mutations of a lane, and that the attempts of all of them wait for.
///
/// It begins when each of them has joined it, or has left before. It sends those in front of the first one that
/// left or was cancelled: a later one must not reach the server before that one, which may be sent again.
/// Nothing is called under its lock.
final class BatchCall<Arguments: Sendable, Value: Sendable>: AttemptBatch {
  typealias Result = Swift.Result<Value, any Error>
  typealias Item = BatchedMutation<Arguments>

  /// What an attempt is told.
  enum Answer: Sendable {
    /// How its mutation ended.
    case result(Result)
    /// To send its mutation alone.
    case alone
  }

  /// What an error of the whole call says.
  struct Judgement: Sendable {
    /// Whether it may be about one of the mutations: only one that is sent alone shows which.
    let isAboutOne: Bool
    let maybeApplied: Bool
  }

  private struct Member {
    var item: Item
    var context: QueryContext
    /// Nil once it has its answer.
    var waiter: CheckedContinuation<Answer, Never>?
    /// Whether it ends for good when it is cancelled, so that nobody sends it again.
    let endsForGood: @Sendable () -> Bool
    var isCancelled = false
  }

  private struct Guarded {
    /// The places of those that have neither joined nor ended yet.
    var missing: Set<Int>
    /// Those that have joined, by their places.
    var members = [Int: Member]()
    var call: Task<Void, Never>?
    var timer: Task<Void, Never>?
    var hasBegun = false
    var hasEnded = false
    /// Whether it is to be cancelled as soon as it is known.
    var isCancelled = false
    var isOverdue = false
    /// Those behind the first one that has not left, and have.
    var left = Set<Int>()
    /// The first one that has not left.
    var first = 0
    /// Those that wait until they are the first one.
    var turns = [Int: CheckedContinuation<Void, Never>]()

    /// - Returns: The one whose turn has come.
    mutating func leave(_ place: Int) -> CheckedContinuation<Void, Never>? {
      self.left.insert(place)
      while self.left.remove(self.first) != nil { self.first += 1 }
      return self.turns.removeValue(forKey: self.first)
    }
  }

  /// The terms of a call.
  struct Terms: Sendable {
    /// How long it may take; nil: as long as it likes.
    var limit: Duration?
    /// How long it may go on after that before it is left behind.
    var grace: Duration
    var sleep: @Sendable (Duration) async throws -> Void
    var timeLimitError: QueryTimeoutError
    var judge: @Sendable (any Error, QueryContext) -> Judgement
    /// Called if it is left behind.
    var warn: @Sendable () -> Void
  }

  private let guarded: Locked<Guarded>
  private let batching: MutationBatching<Arguments, Value>
  private let terms: Terms

  init(of count: Int, _ batching: MutationBatching<Arguments, Value>, _ terms: Terms) {
    self.guarded = Locked(Guarded(missing: Set(0..<count)))
    self.batching = batching
    self.terms = terms
  }

  /// Joins the call, and waits for the answer.
  ///
  /// - Parameter endsForGood: Asked if the member is cancelled: whether nobody sends it again. Then it does not
  ///   wait for the call.
  func join(
    _ place: Int, _ item: Item, in context: QueryContext,
    endsForGood: @escaping @Sendable () -> Bool
  ) async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isKnown = self.guarded.withLock { call in
          guard call.missing.remove(place) != nil else { return false }
          call.members[place] = Member(
            item: item, context: context, waiter: waiter, endsForGood: endsForGood,
            isCancelled: Task.isCancelled)
          return true
        }
        if isKnown {
          self.beginIfComplete()
        } else {
          waiter.resume(returning: .result(.failure(LeftOutOfBatch(maybeApplied: false))))
        }
      }
    } onCancel: {
      self.cancel(place)
    }
  }

  /// Lets those in front of one that will not join go on without it; once it has joined, does nothing.
  func leave(_ place: Int) {
    let (isMissing, next) = self.guarded.withLock { call in
      (call.missing.remove(place) != nil, call.leave(place))
    }
    next?.resume()
    if isMissing { self.beginIfComplete() }
  }

  func turn(of place: Int) async {
    await withCheckedContinuation { waiter in
      let isNext = self.guarded.withLock { call in
        if call.first < place { call.turns[place] = waiter }
        return call.first >= place
      }
      if isNext { waiter.resume() }
    }
  }

  /// A member is cancelled. If others are left, the call goes on for those. One that is given back waits for
  /// its end: another process would send it beside this call, and those behind it before.
  private func cancel(_ place: Int) {
    let endsForGood = self.guarded.withLock { $0.members[place]?.endsForGood }?() ?? false
    let (waiter, isLast) = self.guarded.withLock { call in
      call.members[place]?.isCancelled = true
      guard call.hasBegun, !call.hasEnded else {
        return (nil as CheckedContinuation<Answer, Never>?, false)
      }
      if call.members.values.allSatisfy(\.isCancelled) { return (nil, true) }
      guard endsForGood else { return (nil, false) }
      defer { call.members[place]?.waiter = nil }
      return (call.members[place]?.waiter, false)
    }
    waiter?.resume(returning: .result(.failure(CancellationError())))
    if isLast { self.cancelCall() }
  }

  private func cancelCall() {
    let task = self.guarded.withLock { call in
      call.isCancelled = true
      return call.call
    }
    task?.cancelElsewhere()
  }
}

// MARK: - Calling

extension BatchCall {
  private func beginIfComplete() {
    let (wanted, others) = self.guarded.withLock { call in
      guard call.missing.isEmpty, !call.hasBegun else { return ([Member](), [Member]()) }
      call.hasBegun = true
      let members = call.members
      var count = 0
      while let member = members[count], !member.isCancelled { count += 1 }
      call.hasEnded = count <= 1
      call.members = count <= 1 ? [:] : members.filter { $0.key < count }
      let others = members.filter { $0.key >= count }.map(\.value)
      return ((0..<count).compactMap { members[$0] }, others)
    }
    for member in others {
      let error: any Error =
        member.isCancelled ? CancellationError() : LeftOutOfBatch(maybeApplied: false)
      member.waiter?.resume(returning: .result(.failure(error)))
    }
    guard let first = wanted.first else { return }
    guard wanted.count > 1 else {
      first.waiter?.resume(returning: .alone)
      return
    }
    var context = first.context
    context.mutationAttempt = nil
    let (places, items) = (wanted.indices, wanted.map(\.item))
    let send = self.batching.send
    let call = AttemptScope.$isInside.withValue(true) {
      Task { [context] in
        do {
          let results = try await send(items, context)
          self.end(places, results)
        } catch {
          self.end(places, error)
        }
      }
    }
    let isCancelled = self.guarded.withLock { guarded in
      if !guarded.hasEnded { guarded.call = call }
      return guarded.isCancelled
    }
    if isCancelled { call.cancelElsewhere() }
    self.startTimer(places)
  }

  private func startTimer(_ places: Range<Int>) {
    guard let limit = self.terms.limit else { return }
    let timer = Task.detached { [weak self, grace = self.terms.grace, sleep = self.terms.sleep] in
      guard (try? await sleep(limit)) != nil else { return }
      self?.guarded.withLock { $0.isOverdue = true }
      self?.cancelCall()
      guard (try? await sleep(grace)) != nil, let self else { return }
      if self.end(places, CancellationError()) { self.terms.warn() }
    }
    let hasEnded = self.guarded.withLock { call in
      if !call.hasEnded { call.timer = timer }
      return call.hasEnded
    }
    if hasEnded { timer.cancel() }
  }

  private func answer(_ place: Int, _ answer: Answer) {
    let waiter = self.guarded.withLock { call in
      defer { call.members[place]?.waiter = nil }
      return call.members[place]?.waiter
    }
    waiter?.resume(returning: answer)
  }
}

// MARK: - Ending

extension BatchCall {
  /// - Returns: Whether it ended by this, and those that still wait for it, the first one first; whether
  ///   each of them is cancelled.
  private func end() -> (isFirst: Bool, isOverdue: Bool, waiting: [Int], isCancelled: Bool) {
    let (state, timer) = self.guarded.withLock { call in
      let isFirst = !call.hasEnded
      call.hasEnded = true
      let waiting = call.members.filter { $0.value.waiter != nil }.keys.sorted()
      let isCancelled = call.members.values.allSatisfy(\.isCancelled)
      defer { (call.timer, call.call) = (nil, nil) }
      return ((isFirst, call.isOverdue, waiting, isCancelled), call.timer)
    }
    timer?.cancel()
    return state
  }

  private func end(_ places: Range<Int>, _ results: [Result]) {
    guard self.end().isFirst else { return }
    for (index, place) in places.enumerated() {
      if index < results.count {
        self.answer(place, .result(results[index]))
      } else if index == 0 {
        self.answer(place, .result(.failure(EmptyBatchAnswer())))
      } else {
        self.answer(place, .result(.failure(LeftOutOfBatch(maybeApplied: false))))
      }
    }
  }

  @discardableResult
  private func end(_ places: Range<Int>, _ error: any Error) -> Bool {
    let state = self.end()
    guard state.isFirst else { return false }
    if state.isCancelled, !state.isOverdue {
      for place in state.waiting { self.answer(place, .result(.failure(error))) }
      return true
    }
    let first = places.lowerBound
    guard let member = self.guarded.withLock({ $0.members[first] }) else { return true }
    let judgement =
      state.isOverdue
      ? Judgement(isAboutOne: false, maybeApplied: true) : self.terms.judge(error, member.context)
    for place in state.waiting where place != first {
      let left = LeftOutOfBatch(maybeApplied: judgement.maybeApplied)
      self.answer(place, .result(.failure(left)))
    }
    // If the first one was cancelled meanwhile, it is sent again before the others, and not now.
    if member.isCancelled {
      self.answer(first, .result(.failure(CancellationError())))
    } else if judgement.isAboutOne {
      self.answer(first, .alone)
    } else {
      let failure: any Error = state.isOverdue ? self.terms.timeLimitError : error
      self.answer(first, .result(.failure(failure)))
    }
    return true
  }
}
