import Query
import TestSupport
import Testing

private typealias Numbers = QueryState<Int?, Int>

@Suite(.warningsAreIssues) struct WithStoresTests {
  private let client = QueryClient.quiet()

  private var paths: Set<QueryPath> { Set(self.client.stores(matching: []).map(\.path)) }

  // MARK: - The difference

  @Test func newPathsAreAddedAndVanishedOnesRemoved() {
    let old = self.client.store(for: ProbeQuery(path: ["old"]))
    let kept = self.client.store(for: ProbeQuery(path: ["kept"]))
    let count = self.client.withStores { stores, create in
      stores.removeValue(forPath: ["old"])
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["new"]))))
      return stores.count
    }
    #expect(count == 2)
    #expect(self.paths == [["kept"], ["new"]])
    #expect(self.client.store(for: ProbeQuery(path: ["kept"])) === kept)
    #expect(self.client.store(for: ProbeQuery(path: ["old"])) !== old)
  }

  @Test func aStoreThatWasReplacedUnderItsPathIsNotWrittenBack() {
    let store = self.client.store(for: ProbeQuery())
    self.client.withStores { stores, create in
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(), initialValue: 5)))
    }
    #expect(self.client.store(for: ProbeQuery()) === store)
    self.client.withStores(of: Numbers.self) { stores, create in
      stores.update(create(for: ProbeQuery(), initialValue: 5))
    }
    #expect(self.client.store(for: ProbeQuery()) === store)
  }

  @Test func theClosureSeesWhatMatches() {
    _ = self.client.store(for: ProbeQuery(path: ["a", 1]))
    _ = self.client.store(for: ProbeTextQuery(path: ["a", 2]))
    _ = self.client.store(for: ProbeQuery(path: ["b"]))
    let seen = self.client.withStores(matching: ["a"]) { stores, _ in stores.paths }
    #expect(seen == [["a", 1], ["a", 2]])
    let typed = self.client.withStores(matching: ["a"], of: Numbers.self) { stores, _ in
      defer { stores.removeAll() }
      return stores.paths
    }
    #expect(typed == [["a", 1]])
    #expect(self.paths == [["a", 2], ["b"]])
  }

  @Test func aNewStoreMayLieOutsideThePrefix() {
    self.client.withStores(matching: ["a"]) { stores, create in
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["b"]))))
    }
    #expect(self.paths == [["b"]])
  }

  @Test func aTypedNewStoreDoesNotReplaceOneOfAnotherType() {
    let text = self.client.store(for: ProbeTextQuery(path: ["probe"]))
    self.client.withStores(of: Numbers.self) { stores, create in
      stores.update(create(for: ProbeQuery()))
    }
    #expect(self.client.store(for: ProbeTextQuery(path: ["probe"])) === text)
  }

  @Test func aClosureThatThrowsChangesNothing() {
    _ = self.client.store(for: ProbeQuery(path: ["old"]))
    #expect(throws: TestError()) {
      try self.client.withStores { stores, create in
        stores.removeAll()
        stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["new"]))))
        throw TestError()
      }
    }
    #expect(self.paths == [["old"]])
    #expect(throws: TestError()) {
      try self.client.withStores(of: Numbers.self) { stores, _ in
        stores.removeAll()
        throw TestError()
      }
    }
    #expect(self.paths == [["old"]])
  }

  // MARK: - Changes meanwhile

  @Test func nestedCallsWork() {
    _ = self.client.store(for: ProbeQuery(path: ["old"]))
    let client = self.client
    client.withStores { outer, create in
      let inner = client.store(for: ProbeQuery(path: ["inner"]))
      #expect(client.store(for: ProbeQuery(path: ["inner"])) === inner)
      client.withStores { stores, create in
        stores.removeValue(forPath: ["old"])
        stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["nested"]))))
      }
      client.defaultContext.trace = ["nested"]
      #expect(outer.paths == [["old"]], "a copy")
      outer.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["outer"]))))
    }
    #expect(self.paths == [["inner"], ["nested"], ["outer"]])
    #expect(client.store(with: ["outer"])?.context.trace == ["nested"])
  }

  @Test func whatOthersChangedMeanwhileStays() {
    let client = self.client
    _ = client.store(for: ProbeQuery(path: ["removed by others"]))
    _ = client.store(for: ProbeQuery(path: ["replaced by others"]))
    client.withStores { stores, create in
      client.clearStore(with: ["removed by others"])
      client.clearStore(with: ["replaced by others"])
      let theirs = client.store(for: ProbeQuery(path: ["replaced by others"]))
      theirs.currentValue = 7
      client.store(for: ProbeQuery(path: ["both"])).currentValue = 8
      stores.removeValue(forPath: ["replaced by others"])
      stores.update(OpaqueQueryStore(erasing: create(for: ProbeQuery(path: ["both"]))))
    }
    #expect(self.paths == [["replaced by others"], ["both"]])
    #expect(client.store(for: ProbeQuery(path: ["replaced by others"])).currentValue == 7)
    #expect(client.store(for: ProbeQuery(path: ["both"])).currentValue == 8)
  }

  @Test func anEvictionMeanwhileWorks() {
    let source = ManualPressure()
    let client = QueryClient(
      storeCache: QueryClient.DefaultStoreCache(memoryPressureSource: source)
    )
    _ = client.store(for: ProbeQuery(path: ["evicted"]))
    client.withStores { stores, _ in
      #expect(isDoneElsewhere { source.send(.critical) })
      #expect(stores.count == 1)
    }
    #expect(client.stores(matching: []).isEmpty)
  }

  // MARK: - Controllers

  @Test func controllersStartWhenTheOutermostCallHasReturned() {
    let started = Recorder<QueryPath>()
    let client = self.client
    client.withStores { stores, create in
      client.withStores { inner, create in
        let store = create(for: self.controlled(["inner"], started))
        inner.update(OpaqueQueryStore(erasing: store))
      }
      _ = client.store(for: self.controlled(["cached"], started))
      stores.update(OpaqueQueryStore(erasing: create(for: self.controlled(["outer"], started))))
      // Nobody keeps this one, so there is nothing to control.
      _ = create(for: self.controlled(["dropped"], started))
      #expect(started.elements == [])
    }
    #expect(started.elements == [["inner"], ["cached"], ["outer"]])
  }

  @Test func controllersStartWithoutALock() {
    let results = Recorder<Bool>()
    let client = self.client
    let query = ProbeQuery().controlled(
      by: ProbeController<Numbers> { _ in
        results.append(
          isDoneElsewhere { client.withStores { stores, _ in #expect(stores.count == 1) } }
        )
        return .empty
      }
    )
    client.withStores { stores, create in
      stores.update(OpaqueQueryStore(erasing: create(for: query)))
    }
    #expect(results.elements == [true])
  }

  @Test func aTaskThatIsStartedInsideMakesStoresWithControllers() async {
    let started = Recorder<QueryPath>()
    let client = self.client
    let gate = Gate()
    let task = client.withStores { _, _ in
      Task {
        try await gate.pass()
        return client.store(for: self.controlled(["later"], started))
      }
    }
    #expect(started.elements == [])
    gate.open()
    let store = try? await task.value
    #expect(started.elements == [["later"]])
    withExtendedLifetime(store) {}
  }

  @Test func aStoreOfAnotherThreadStartsItsControllersAtOnce() {
    let started = Recorder<QueryPath>()
    let query = self.controlled(["detached"], started)
    self.client.withStores { _, _ in
      let isDone = isDoneElsewhere { _ = QueryStore.detached(query: query, initialValue: nil) }
      #expect(isDone)
      #expect(started.elements == [["detached"]])
    }
  }

  private func controlled(
    _ path: QueryPath,
    _ started: Recorder<QueryPath>
  ) -> ControlledQuery<ProbeQuery, ProbeController<Numbers>> {
    ProbeQuery(path: path).controlled(
      by: ProbeController { _ in
        started.append(path)
        return .empty
      }
    )
  }
}
