import FoundationEssentials

// What a request says of its value: see `QueryContinuation.unchanged` and `returning`.

// MARK: - Noting

extension StoreFetch {
  /// Reads the store's value, or that of the page that is being fetched, and remembers it as the one
  /// that the server is asked about.
  func captureValue(in context: QueryContext?) -> StoredValue? {
    guard let store = self.notedStore(in: context) else { return nil }
    return store.withLock {
      // What was said before was said of an earlier attempt.
      self.notes?.outcome = nil
      if let page = self.page { return self.capture(page, of: store) }
      guard let captured = self.capture(store), let date = store._state.valueLastUpdatedAt else {
        return nil
      }
      return StoredValue(
        metadata: captured.record?.metadata, updatedAt: date, base: captured.fetchedValue)
    }
  }

  func noted(
    _ note: ValueNote, of page: _PageKey?, in context: QueryContext?
  ) -> (any Sendable)? {
    guard let store = self.notedStore(in: context) else { return nil }
    return store.withLock {
      if note.isRemoval {
        self.ownNotes().outcome = .removed
        return nil
      }
      if let page { return self.note(note, of: page, in: store) }
      guard note.isKept else {
        let record = ValueRecord.of(
          note.metadata ?? nil, freshFor: note.freshFor, isStored: note.isStored)
        self.ownNotes().outcome = .returned(record)
        return nil
      }
      guard let captured = self.notes?.captured ?? self.capture(store) else { return nil }
      let record = ValueRecord.of(
        note.metadata ?? captured.record?.metadata, freshFor: note.freshFor,
        isStored: captured.record?.isStored ?? true)
      self.ownNotes().outcome = .kept(captured, record)
      return captured.fetchedValue
    }
  }

  func noteBeginning(of page: _PageKey, in context: QueryContext) {
    self.reportedStore(in: context)?.withLock {
      self.begin(page)
      self.notes?.pages[page] = nil
    }
  }

  private func note(
    _ note: ValueNote, of page: _PageKey, in store: QueryStore<State>
  ) -> (any Sendable)? {
    var noted = self.ownNotes().pages[page] ?? PageNote()
    if note.isKept, noted.captured == nil {
      _ = self.capture(page, of: store)
      noted = self.ownNotes().pages[page] ?? PageNote()
    }
    guard !note.isKept || noted.captured != nil else { return nil }
    noted.isKept = note.isKept
    noted.metadata = note.metadata ?? noted.captured?.metadata
    noted.freshFor = note.freshFor
    noted.isStored = note.isStored
    self.ownNotes().pages[page] = noted
    return note.isKept ? noted.captured?.value : nil
  }

  /// The caller holds the lock.
  private func capture(_ store: QueryStore<State>) -> CapturedValue? {
    guard let value = store._state._fetchedValue else {
      self.notes?.captured = nil
      return nil
    }
    let captured = CapturedValue(
      number: store.tag.number, stateValue: store._state.currentValue, fetchedValue: value,
      record: store.tag.record)
    self.ownNotes().captured = captured
    return captured
  }

  private func capture(_ page: _PageKey, of store: QueryStore<State>) -> StoredValue? {
    guard let value = store._state._pageValue(page), let date = store._state.valueLastUpdatedAt
    else {
      self.notes?.pages[page] = nil
      return nil
    }
    let metadata = store.tag.record?.pages[page]
    self.ownNotes().pages[page] = PageNote(captured: (store.tag.number, value, metadata))
    return StoredValue(metadata: metadata, updatedAt: date, base: value)
  }

  private func ownNotes() -> FetchNotes {
    if let notes { return notes }
    let notes = FetchNotes()
    self.notes = notes
    return notes
  }

  private func notedStore(in context: QueryContext?) -> QueryStore<State>? {
    context.map { self.reportedStore(in: $0) } ?? self.store
  }
}

// MARK: - Taking

extension StoreFetch {
  /// The result of a fetch whose request has noted something. The caller holds the lock.
  @usableFromInline
  func kept(
    by notes: FetchNotes, insteadOf result: Result<Value, any Error>
  ) -> Result<Value, any Error> {
    guard case .success = result, case .kept(let captured, _)? = notes.outcome,
      let value = captured.fetchedValue as? Value
    else { return result }
    return .success(value)
  }

  /// Lets the state take the final result of a fetch whose request has noted something. The caller holds
  /// the lock.
  @usableFromInline
  func take(
    _ result: Result<Value, any Error>,
    _ notes: FetchNotes,
    for task: QueryTask<Value>,
    in store: QueryStore<State>
  ) {
    guard case .success(let value) = result else {
      if case .removed? = notes.outcome { self.remove(for: task, in: store) }
      return self.take(result, for: task, in: store)
    }
    switch notes.outcome {
    case .kept(let captured, let record)?:
      self.keep(captured, record, for: task, in: store)
    case .returned(let record)?:
      self.change(store, for: task) { $0.update(with: result, for: task) }
      store.didTake(record, isConfirmed: false, of: self, in: task.context)
    case .removed?, nil:
      guard !notes.pages.isEmpty, let pages = store._state._fetchedPages(of: value) else {
        return self.take(result, for: task, in: store)
      }
      let (record, isConfirmed) = self.record(of: pages, notes, for: task, in: store)
      self.change(store, for: task) { $0.update(with: result, for: task) }
      store.didTake(record, isConfirmed: isConfirmed, of: self, in: task.context)
    }
  }

  /// Resets the store, since the server has said that there is no such value any more. The error of this
  /// fetch comes after it, and that of another one that it ends does not.
  private func remove(for task: QueryTask<Value>, in store: QueryStore<State>) {
    store._state.finishFetchTask(task)
    // The `deinit` of a value may read the store.
    let replaced = store._state.currentValue
    store.aftermath.actions.append { withExtendedLifetime(replaced) {} }
    store.resetWhileLocked(using: task.context)
    self.generation = store.generation
  }

  private func keep(
    _ captured: CapturedValue,
    _ record: ValueRecord?,
    for task: QueryTask<Value>,
    in store: QueryStore<State>
  ) {
    if captured.number == store.tag.number {
      self.change(store, for: task) { $0.confirmValue(using: task.context) }
      store.didTake(record, isConfirmed: true, of: self, in: task.context)
    } else if let value = captured.stateValue as? State.StateValue {
      // Another value came meanwhile, set by hand for example. The server has confirmed this one, and so
      // it takes its place, as it would if the server had sent it.
      self.change(store, for: task) { $0.update(with: .success(value), using: task.context) }
      store.didTake(record, isConfirmed: false, of: self, in: task.context)
    }
  }

  private func change(
    _ store: QueryStore<State>, for task: QueryTask<Value>, _ change: (inout State) -> Void
  ) {
    if self.invalidationStamp == store.invalidationStamp {
      change(&store._state)
    } else {
      store.changeOutdated(stamp: self.stampOfWholeValue(for: task), change)
    }
  }

  /// What is kept beside the pages once those are among them of which the request has noted nothing; nil if
  /// these are all pages, or the value has none. The caller holds the lock.
  @usableFromInline
  func recordBeside(
    _ value: Value, for task: QueryTask<Value>, in store: QueryStore<State>
  ) -> ValueRecord? {
    guard let pages = store._state._fetchedPages(of: value), !pages.isWhole else { return nil }
    return self.record(of: pages, FetchNotes(), for: task, in: store).0
  }

  /// What is kept beside the pages once those that were fetched are among them, and whether that is all
  /// that changes.
  private func record(
    of fetched: _FetchedPages,
    _ notes: FetchNotes,
    for task: QueryTask<Value>,
    in store: QueryStore<State>
  ) -> (ValueRecord?, isConfirmed: Bool) {
    let old = store.tag.record
    var pages = old?.pages ?? [:]
    var freshFor = Duration?.some(.longest)
    if !fetched.isWhole {
      let age = store._state.valueLastUpdatedAt.map {
        Duration(clampingSeconds: task.context.queryClock.now().timeIntervalSince($0))
      }
      freshFor = old?.freshFor.flatMap { fresh in age.map { max(fresh - $0, .zero) } }
    }
    var isConfirmed = fetched.isSameList && State._isStoredAsConfirmed
    var isStored = fetched.isWhole || old?.isStored ?? true
    for id in fetched.ids {
      let note = notes.pages[id]
      pages[id] = note?.metadata
      isStored = isStored && note?.isStored ?? true
      freshFor = freshFor.flatMap { fresh in note?.freshFor.map { min(fresh, $0) } }
      isConfirmed =
        isConfirmed && note?.isKept == true && note?.captured?.number == store.tag.number
        && note?.metadata == note?.captured?.metadata
    }
    if fetched.ids.isEmpty { freshFor = nil }
    return (
      ValueRecord.of(nil, freshFor: freshFor, pages: pages, isStored: isStored), isConfirmed
    )
  }
}

extension QueryStore {
  /// Records a value of a fetch, with what is kept beside it. The caller holds the lock.
  fileprivate func didTake(
    _ record: ValueRecord?, isConfirmed: Bool, of work: FetchWork, in context: QueryContext
  ) {
    self.valueOrigin = .network
    if self.overlay != nil || self.storing != nil {
      self.mark(by: work, isFinal: true, in: context)
    }
    if isConfirmed {
      self.tag.record = record
      self.persist(.confirmed)
    } else {
      self.tag.replace(record)
      self.persist(.changed)
    }
  }
}
