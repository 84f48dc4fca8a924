import FoundationEssentials

extension QueryStore {
  /// The source of the value. Observation tells its readers if that changes.
  public var origin: ValueOrigin { self.observed(.origin) { self.valueOrigin } }

  /// Returns when the stored value is there, if there is one.
  ///
  /// That is at once for most stores: they are hydrated when they are created. A large value, or
  /// one that the storage was too busy to read, is decoded later; the automatic fetch waits for it,
  /// too. If the task is cancelled, this returns earlier.
  public func hydrated() async {
    let (waits, resume) = AsyncStream.makeStream(of: Never.self)
    guard self.whenHydrated({ resume.finish() }) else { return }
    for await _ in waits {}
  }

  /// Runs an action once the stored value is there, if that is still to come.
  ///
  /// - Returns: Whether it is still to come.
  func whenHydrated(_ action: @escaping @Sendable () -> Void) -> Bool {
    self.withLock { self.storing?.whenHydrated(action) ?? false }
  }
}

extension OpaqueQueryStore {
  /// The source of the value. Observation tracks it.
  public var origin: ValueOrigin { self.erased.origin }
}

// MARK: - Attaching

extension QueryStore where State: PersistableQueryState {
  /// Connects a new store to a storage, and hydrates it.
  func attach(
    to storage: any QueryStorage,
    _ plan: PersistencePlan,
    _ queryName: () -> String
  ) {
    do {
      let identity = try plan.identity(of: self.path, queryName)
      guard let slot = storage.slots.attach(self, to: identity) else { return }
      let stored = PersistedAttachment<State>(slot: slot, storage: storage, plan: plan)
      self.storing = stored
      stored.hydrate(self)
    } catch let error as QueryIdentityError {
      PersistenceWarnings.reportOnce(
        .noIdentity(query: queryName(), error: error), for: "\(error)")
    } catch {
      // Nothing else is thrown.
    }
  }
}

extension PersistencePlan {
  /// The key that a query is stored under. One that the name of a request's type is part of is reported.
  func identity(
    of path: QueryPath,
    _ queryName: () -> String
  ) throws -> QueryIdentity {
    if let identity = self.options.identity { return identity }
    if let name = self.name { return try QueryIdentity(path: path, name: name) }
    let identity = try QueryIdentity(path: path)
    // The first is cheaper to ask, and so is the type's name as it is written than another one.
    if identity.text.hasPrefix("[{\""), path.count == 1, path[0].base is any QueryRequest {
      let typeName = identity.text.utf8.prefix { $0 != UInt8(ascii: ":") }
      PersistenceWarnings.reportOnce(
        .storedUnderTypeName(query: queryName(), identity: identity),
        for: "type name: \(Substring(typeName))")
    }
    return identity
  }
}

// MARK: - As its slot knows it

extension QueryStore: StoredStore {
  func takeOver(_ entry: StoredEntry, ifChangesAre changeCount: Int) {
    guard let type = State.self as? any PersistableQueryState.Type else { return }
    func open<S: PersistableQueryState>(_: S.Type) {
      guard S.self == State.self else { return }
      let store = unsafeDowncast(self, to: QueryStore<S>.self)
      let storing = store.withLock { store.storing } as? PersistedAttachment<S>
      storing?.takeOver(entry, into: store, ifChangesAre: changeCount)
    }
    open(type)
  }

  func handOverAgain() {
    self.withLock { self.persist(.lost) }
  }

  func stopWriting(beside version: Int) {
    self.withLock { self.storing }?.stopWriting(beside: version, of: self)
  }

  func takeResetAfterErasing() -> [@Sendable () -> Void] {
    self.withLock {
      // Its slot is closed, so this is not written.
      let identity = self.storing?.identity
      self.storing = nil
      defer { self.storing = identity.map { ErasedAttachment(identity: $0) } }
      return self.takeReset(using: nil)
    }
  }
}
