import Testing

@testable import Query

/// What is known of a value of which a part was fetched, and another part stays.
@Suite struct ValueMarkTests {
  @Test func theOlderPartDecidesWhatHasEnded() {
    for (fetched, old) in [(3, 5), (5, 3), (3, 3)] as [(Int64, Int64)] {
      var mark = ValueMark(sequence: fetched)
      mark.formUnion(withPartOf: ValueMark(sequence: old))
      // Without a server that names any there are no keys: then edits may become a part of the value.
      #expect(mark == ValueMark(sequence: 3))
    }
  }

  @Test func onlyWhatBothPartsIncludeIsIncluded() {
    let parts: [(fetched: Set<String>?, old: Set<String>?, both: Set<String>?)] = [
      (["a", "b"], ["b", "c"], ["b"]), (["a"], nil, []), (nil, ["a"], []), ([], nil, []),
      (nil, [], []), (nil, nil, nil),
    ]
    for (fetched, old, both) in parts {
      var mark = ValueMark(sequence: 1, includedKeys: fetched)
      mark.formUnion(withPartOf: ValueMark(sequence: 1, includedKeys: old))
      #expect(mark.includedKeys == both)
    }
  }
}
