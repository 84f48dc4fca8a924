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

  /// Whether the entry is removed.
  var isRemoval: Bool {
    if case .remove = self { true } else { false }
  }
}
