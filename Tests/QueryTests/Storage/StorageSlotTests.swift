import TestSupport
import Testing

@testable import Query

@Suite struct StorageSlotTests {
  private let slots = StorageSlots()
  private let slot: StorageSlot

  init() throws {
    let identity = QueryIdentity(canonicalText: #"["a"]"#)
    // A store that is gone at once.
    self.slot = try #require(self.slots.attach(ScriptedQuery.store(), to: identity))
  }

  // MARK: - One change after another

  @Test func onlyTheFirstChangeIsAnnounced() {
    let slot = self.slot
    #expect(slot.unwrittenChange == nil)
    #expect(slot.replaceChange(.writing(1)).isFirst)
    let second = slot.replaceChange(.writing(2))
    #expect(!second.isFirst)
    #expect(second.old?.count == 1)
    #expect(!slot.replaceChange(.remove).isFirst)
    #expect(slot.takeChange()?.isRemoval == true)
    #expect(slot.takeChange() == nil)
    #expect(slot.replaceChange(.writing(3)).isFirst, "the one before was taken")
  }

  @Test func aChangeIsUnwrittenUntilTheStorageSaysOtherwise() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    #expect(slot.unwrittenChange?.count == 1)
    #expect(slot.takeChange()?.count == 1)
    #expect(slot.unwrittenChange?.count == 1, "it is on its way")
    slot.didWrite()
    #expect(slot.unwrittenChange == nil)
  }

  @Test func aChangeThatComesDuringAWriteIsWrittenNext() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    _ = slot.takeChange()
    #expect(slot.replaceChange(.writing(2)).isFirst)
    #expect(slot.unwrittenChange?.count == 2)
    slot.didWrite()
    #expect(slot.unwrittenChange?.count == 2)
    #expect(slot.takeChange()?.count == 2)
    slot.didWrite()
    #expect(slot.takeChange() == nil)
    #expect(slot.unwrittenChange == nil)
  }

  @Test func whatIsPutBackWaitsAgain() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    _ = slot.takeChange()
    #expect(slot.putBack())
    #expect(slot.unwrittenChange?.count == 1)
    #expect(!slot.replaceChange(.writing(2)).isFirst, "the storage comes back anyhow")
    #expect(slot.takeChange()?.count == 2)
    slot.didWrite()
    #expect(!slot.putBack(), "nothing was taken")
  }

  @Test func whatIsPutBackYieldsToANewerChange() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    _ = slot.takeChange()
    #expect(slot.replaceChange(.remove).isFirst)
    #expect(!slot.putBack(), "the newer one was announced on its own")
    #expect(slot.takeChange()?.isRemoval == true)
  }

  @Test func whatIsReplacedOrWrittenIsReleased() {
    let slot = self.slot
    let released = Recorder<String>()
    func change(_ name: String) -> StorageChange {
      let tracked = Tracked { released.append(name) }
      return .write(StorageWrite { withExtendedLifetime(tracked) { entry(1) } })
    }
    _ = slot.replaceChange(change("replaced"))
    _ = slot.replaceChange(change("written"))
    #expect(released.elements == ["replaced"])
    _ = slot.takeChange()
    #expect(released.elements == ["replaced"])
    slot.didWrite()
    #expect(released.elements == ["replaced", "written"])
    _ = slot.replaceChange(change("outdated"))
    _ = slot.takeChange()
    _ = slot.replaceChange(change("closed"))
    _ = slot.putBack()
    #expect(released.elements == ["replaced", "written", "outdated"])
    slot.close()
    #expect(released.elements == ["replaced", "written", "outdated", "closed"])
  }

  // MARK: - Closing

  @Test func aClosedSlotTakesNothingAnyMore() {
    let slot = self.slot
    #expect(!slot.replaceChange(.writing(1)).isClosed)
    #expect(!slot.isClosed)
    slot.close()
    #expect(slot.isClosed)
    #expect(slot.takeChange() == nil)
    let refused = slot.replaceChange(.writing(2))
    #expect(!refused.isFirst && refused.isClosed)
    #expect(slot.unwrittenChange == nil)
    #expect(!slot.invalidateChange())
  }

  @Test func whatIsBeingWrittenWhenItIsClosedIsNotPutBack() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    _ = slot.takeChange()
    slot.close()
    #expect(!slot.putBack())
    #expect(slot.takeChange() == nil)
    #expect(slot.unwrittenChange == nil)
  }

  // MARK: - Invalidation

  @Test func whatWaitsIsInvalidatedInItsPlace() {
    let slot = self.slot
    #expect(!slot.invalidateChange(), "there is nothing to mark")
    _ = slot.replaceChange(.writing(1))
    #expect(!slot.invalidateChange(), "it was announced")
    #expect(slot.unwrittenChange?.isInvalidated == true)
    #expect(slot.takeChange()?.count == 1)
    slot.didWrite()
    _ = slot.replaceChange(.remove)
    #expect(!slot.invalidateChange())
    #expect(slot.takeChange()?.isRemoval == true)
  }

  @Test func whatIsBeingWrittenIsWrittenOnceMore() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    #expect(slot.takeChange()?.isInvalidated == false)
    #expect(slot.invalidateChange())
    #expect(slot.unwrittenChange?.isNote == false, "the value is not on disk yet")
    slot.didWrite()
    #expect(slot.unwrittenChange?.isNote == true)
    #expect(slot.unwrittenChange?.isInvalidated == true)
    #expect(slot.takeChange()?.isInvalidated == true)
  }

  @Test func aChangeAfterAnInvalidationIsNotInvalidated() {
    let slot = self.slot
    _ = slot.replaceChange(.writing(1))
    _ = slot.invalidateChange()
    _ = slot.replaceChange(.writing(2))
    #expect(slot.takeChange()?.isInvalidated == false)
  }

  // MARK: - Stores

  @Test func aSlotKnowsTheStoresThatLiveThere() {
    #expect(!self.slot.isAlive)
    #expect(self.slot.path == nil)
    func store(_ path: QueryPath) -> IntStore {
      .detached(query: ScriptedQuery(path: path) { _, _ in 1 }, initialValue: nil)
    }
    var first: IntStore? = store(["a"])
    if let first { self.slot.add(first) }
    #expect(self.slot.isAlive)
    #expect(self.slot.path == ["a"])
    let second = store(["b"])
    self.slot.add(second)
    first = nil
    #expect(self.slot.livingStores.count == 1)
    #expect(self.slot.path == ["b"])
    withExtendedLifetime(second) {}
  }

  // MARK: - Threads

  @Test func theNewestChangeIsTheOneThatIsWrittenLast() async {
    let slot = self.slot
    let announced = Counter()
    let written = Locked([Int]())
    let isDone = Locked(false)
    await runOnThreads(3) { thread in
      if thread == 0 {
        for count in 1...3_000 {
          if slot.replaceChange(.writing(count)).isFirst { announced.increment() }
          if count % 100 == 0, slot.invalidateChange() { announced.increment() }
        }
        isDone.withLock { $0 = true }
      } else if thread == 1 {
        var generator = SeededGenerator(seed: 1)
        while true {
          let isLast = isDone.withLock { $0 }
          guard let change = slot.takeChange() else {
            if isLast { return }
            continue
          }
          if Bool.random(using: &generator) {
            _ = slot.putBack()
          } else {
            written.withLock { $0.append(change.count ?? 0) }
            slot.didWrite()
          }
        }
      } else {
        for _ in 0..<3_000 {
          _ = slot.unwrittenChange
          _ = slot.isAlive
          _ = slot.waitingBytes
        }
      }
    }
    let counts = written.withLock { $0 }
    #expect(counts.last == 3_000)
    #expect(counts == counts.sorted())
    #expect(announced.value > 0)
    #expect(slot.unwrittenChange == nil)
  }
}
