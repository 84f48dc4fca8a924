import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct StorageChangeTests {
  @Test func theSnapshotIsCodedOnceHoweverOftenItIsAskedFor() throws {
    let count = Counter()
    let write = StorageWrite { entry(count.increment()) }
    #expect(count.value == 0, "nobody has asked yet")
    #expect(try write.entry() == entry(1))
    #expect(try write.entry() == entry(1))
    #expect(count.value == 1)
  }

  @Test func whatTheCoderThrowsIsThrownEachTimeAndAskedForOnce() {
    let count = Counter()
    let write = StorageWrite {
      count.increment()
      throw TestError("coder")
    }
    #expect(throws: TestError("coder")) { try write.entry() }
    #expect(throws: TestError("coder")) { try write.entry() }
    #expect(count.value == 1)
  }

  @Test func theSnapshotIsReleasedWhenItIsCoded() throws {
    let released = Counter()
    let write = Self.write(holding: Tracked { released.increment() })
    #expect(released.value == 0)
    _ = try write.entry()
    #expect(released.value == 1)
  }

  private static func write(holding tracked: Tracked) -> StorageWrite {
    StorageWrite { withExtendedLifetime(tracked) { entry(1) } }
  }

  @Test func anInvalidatedWriteIsTheSameButForTheMark() throws {
    let write = StorageWrite { entry(7) }
    var expected = entry(7)
    expected.history.isInvalidated = true
    #expect(try write.invalidated().entry() == expected)
    #expect(try write.invalidated().invalidated().entry() == expected)
    #expect(try write.entry() == entry(7))
    let failing = StorageWrite { throw TestError() }
    #expect(throws: TestError.self) { try failing.invalidated().entry() }
  }

  @Test func manyThreadsGetEqualEntries() async {
    let write = StorageWrite { entry(1) }
    await runOnThreads(8) { _ in
      for _ in 0..<500 { #expect((try? write.entry()) == entry(1)) }
    }
  }

  @Test func manyThreadsGetEqualEntriesOfASnapshotThatLetsGoOfItsValue() async {
    for _ in 0..<200 {
      let write = StorageWrite.of(Sample(stored: entry(1)), WriteFacts(cause: .changed))
      await runOnThreads(4) { _ in
        for _ in 0..<3 { #expect((try? write.entry()) == entry(1)) }
      }
      #expect(write.snapshot == nil)
    }
  }

  // MARK: - Handed over again

  private struct Sample: StateSnapshot {
    private(set) var stored: StoredEntry
    var hasValue: Bool { true }

    mutating func releaseValue() { self.stored.content = .none }

    func entry(_ facts: WriteFacts) -> StoredEntry { self.stored }

    func entryWithoutContent(_ facts: WriteFacts) -> StoredEntry {
      var entry = self.stored
      entry.content = .none
      return entry
    }
  }

  /// A write of another store than all others, whose value is so many seconds old.
  private static func write(_ count: Int, _ cause: StorageWrite.Cause) -> StorageWrite {
    var sample = entry(count)
    sample.history.valueLastUpdatedAt = Date(timeIntervalSince1970: Double(count))
    return .of(Sample(stored: sample), WriteFacts(content: StoredContent(), cause: cause))
  }

  /// An error, an invalidation or an edit of a stored value is nothing without that.
  @Test(arguments: [
    (StorageWrite.Cause.changed, 1), (.confirmed, 1), (.unchanged, 2), (.folded, 2),
    (.handedOverAgain, 2),
  ])
  func aValueThatIsHandedOverAgainYieldsToAnotherThatWaits(
    _ waiting: StorageWrite.Cause, _ count: Int
  ) {
    let change = Self.write(2, .handedOverAgain).replacing(.write(Self.write(1, waiting)))
    #expect(change.count == count)
  }

  /// A storage that counts the bytes which wait has it coded.
  @Test(arguments: [StorageWrite.Cause.changed, .folded, .unchanged])
  func whatFollowsIsTheSameIfItIsCodedAlready(_ cause: StorageWrite.Cause) throws {
    let again = Self.write(2, .handedOverAgain)
    _ = try again.entry()
    #expect(again.replacing(.write(Self.write(1, cause))).count == (cause == .changed ? 1 : 2))
    // An edit of a value that was not written before it.
    let first = Self.write(1, .changed)
    let facts = WriteFacts(
      content: StoredContent(), cause: .folded, folded: first.facts.content)
    let edit = StorageWrite.of(Sample(stored: entry(3)), facts)
    _ = try edit.entry()
    guard case .write(let write) = edit.replacing(.write(first)) else {
      Issue.record("it is removed")
      return
    }
    #expect(try write.entry() == entry(3) && write.basis == nil)
  }

  @Test func anErrorThatIsCodedAlreadyReplacesNoValue() throws {
    let note = Self.write(1, .unchanged)
    _ = try note.entry()
    #expect(note.confirmation?.keepsOtherValue == true)
  }

  @Test func theNewerOneOfTwoThatAreHandedOverAgainIsWritten() {
    let change = Self.write(1, .handedOverAgain).replacing(.write(Self.write(2, .handedOverAgain)))
    #expect(change.count == 2)
  }

  @Test func aRemovalThatWaitsIsNotUndone() {
    #expect(Self.write(2, .handedOverAgain).replacing(.remove).isRemoval)
  }

  @Test(arguments: [StorageWrite.Cause.unchanged, .folded])
  func whatFollowsAValueThatIsHandedOverAgainIsWrittenWithIt(_ cause: StorageWrite.Cause) {
    let first = Self.write(1, .handedOverAgain)
    let content = first.facts.content
    var facts = WriteFacts(content: content, cause: cause)
    if cause == .folded { (facts.folded, facts.content) = (content, StoredContent()) }
    let change = StorageWrite.of(Sample(stored: entry(2)), facts).replacing(.write(first))
    guard case .write(let write) = change else {
      Issue.record("it is removed")
      return
    }
    #expect(write.facts.cause == .handedOverAgain && change.count == 2)
    #expect(write.basis != nil && write.basis?.content == nil)
    #expect(write.confirmation == nil)
  }
}

/// An entry that is told from others by its count.
func entry(_ count: Int) -> StoredEntry {
  StoredEntry(
    kind: "query", coder: "json", version: 1, content: .value(Data("\(count)".utf8)),
    history: UpdateHistory(valueUpdateCount: count))
}

extension StorageChange {
  /// A write of an entry.
  static func writing(_ count: Int) -> StorageChange { .write(StorageWrite { entry(count) }) }

  /// The count of the entry that is written; nil if it is removed, -1 if it does not encode.
  var count: Int? {
    guard case .write(let write) = self else { return nil }
    return (try? write.entry().history.valueUpdateCount) ?? -1
  }

  /// Whether the entry that is written is invalidated.
  var isInvalidated: Bool {
    guard case .write(let write) = self else { return false }
    return (try? write.entry().history.isInvalidated) == true
  }

  /// Whether it belongs beside what is stored.
  var isNote: Bool {
    if case .write(let write) = self { write.isNote } else { false }
  }

  /// Whether the entry is removed.
  var isRemoval: Bool {
    if case .remove = self { true } else { false }
  }
}
