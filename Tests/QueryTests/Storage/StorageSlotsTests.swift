import TestSupport
import Testing

@testable import Query

@Suite struct StorageSlotsTests {
  private let slots = StorageSlots()
  private let identity = QueryIdentity(canonicalText: #"["a"]"#)

  /// The slot of an identity, whose store is gone at once.
  private func slot(
    for identity: QueryIdentity,
    in slots: StorageSlots? = nil
  ) throws -> StorageSlot {
    try #require((slots ?? self.slots).attach(ScriptedQuery.store(), to: identity))
  }

  @Test func anIdentityHasOneSlotAsLongAsSomebodyHoldsIt() throws {
    #expect(self.slots.existingSlot(for: self.identity) == nil)
    var slot: StorageSlot? = try self.slot(for: self.identity)
    #expect(try self.slot(for: self.identity) === slot)
    #expect(self.slots.existingSlot(for: self.identity) === slot)
    #expect(self.slots.all.count == 1)
    slot = nil
    #expect(self.slots.existingSlot(for: self.identity) == nil)
    #expect(self.slots.all.isEmpty)
  }

  @Test func aSlotMayOutliveItsTable() throws {
    var slots: StorageSlots? = StorageSlots()
    let slot = try self.slot(for: self.identity, in: slots)
    slots = nil
    #expect(slot.replaceChange(.remove).isFirst == true)
  }

  /// Their texts are equal to Swift, and their bytes are not.
  @Test(arguments: [[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1]])
  func identitiesOfOtherBytesHaveTheirOwnSlots(_ order: [Int]) throws {
    let identities = ["\u{1ed9}", "o\u{323}\u{302}", "\u{1ecd}\u{302}"].map {
      QueryIdentity(canonicalText: $0)
    }
    var found: [StorageSlot?] = try identities.map { try self.slot(for: $0) }
    #expect(Set(found.map { $0.map(ObjectIdentifier.init) }).count == 3)
    #expect(self.slots.all.count == 3)
    for (count, index) in order.enumerated() {
      for (identity, slot) in zip(identities, found) where slot != nil {
        #expect(self.slots.existingSlot(for: identity) === slot)
        #expect(try self.slot(for: identity) === slot)
      }
      found[index] = nil
      #expect(self.slots.existingSlot(for: identities[index]) == nil)
      #expect(self.slots.all.count == 2 - count)
    }
  }

  @Test func closingMakesRoomForNewSlots() throws {
    let old = try self.slot(for: self.identity)
    _ = old.replaceChange(.writing(1))
    let closed = self.slots.closeAll()
    #expect(closed.count == 1)
    #expect(old.isClosed)
    #expect(self.slots.existingSlot(for: self.identity) == nil)
    let new = try self.slot(for: self.identity)
    #expect(new !== old)
    #expect(!new.isClosed)
    #expect(new.unwrittenChange == nil)
    #expect(self.slots.closeAll().map(ObjectIdentifier.init) == [ObjectIdentifier(new)])
  }

  @Test func theReleaseOfAClosedSlotLeavesItsSuccessorAlone() throws {
    var old: StorageSlot? = try self.slot(for: self.identity)
    _ = self.slots.closeAll()
    let new = try self.slot(for: self.identity)
    withExtendedLifetime(old) {}
    old = nil
    #expect(self.slots.existingSlot(for: self.identity) === new)
  }

  @Test func storesOfUnequalPathsAreNotAttachedToOneSlot() async throws {
    func store(_ path: QueryPath) -> IntStore {
      .detached(query: ScriptedQuery(path: path) { _, _ in 1 }, initialValue: nil)
    }
    let identity = self.identity
    var first: IntStore? = store(["a"])
    let slot = self.slots.attach(try #require(first), to: identity)
    #expect(slot != nil)
    #expect(self.slots.attach(store(["a"]), to: identity) === slot)
    let other = store(["b"])
    await withExpectedWarnings([.sameIdentity(identity: identity, paths: (["a"], ["b"]))]) {
      #expect(self.slots.attach(other, to: identity) == nil)
    }
    withExtendedLifetime(first) {}
    first = nil
    #expect(self.slots.attach(other, to: identity) === slot, "the first one is gone")
  }

  @Test func invalidationIsAboutWhatIsUnderThePath() throws {
    let paths: [QueryPath] = [["a"], ["a", 1], ["ab"], ["b"]]
    let all = try paths.map { try self.slot(for: try QueryIdentity(path: $0)) }
    for slot in all {
      _ = slot.replaceChange(.writing(1))
      _ = slot.takeChange()
    }
    let announced = self.slots.invalidateChanges(under: try IdentityPrefix(path: ["a"]))
    #expect(Set(announced.map(\.identity)) == [all[0].identity, all[1].identity])
    #expect(all.map { $0.unwrittenChange?.isInvalidated } == [true, true, false, false])
  }

  @Test func slotsComeAndGoOnManyThreads() async {
    let slots = self.slots
    await runOnThreads(8) { thread in
      for round in 0..<500 {
        let texts = ["[1]", "[\u{e9}]", "[e\u{301}]"]
        let identity = QueryIdentity(canonicalText: texts[round % 3])
        guard let slot = slots.attach(ScriptedQuery.store(), to: identity) else { continue }
        _ = slot.replaceChange(.writing(round))
        _ = slots.existingSlot(for: identity)
        if thread == 0, round % 20 == 0 { _ = slots.closeAll() }
        if thread == 1 { _ = slots.all }
        _ = slot.takeChange()
        slot.didWrite()
      }
    }
    #expect(slots.all.isEmpty)
  }
}
