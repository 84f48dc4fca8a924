import Query
import Testing

@Suite struct QueryPathCollectionTests {
  private let path: QueryPath = ["a", 1, "b", 2]

  @Test func readsByPositionAndByRange() {
    #expect(path.startIndex == 0)
    #expect(path.endIndex == 4)
    #expect(path[1] == QueryPath.Element(1))
    #expect(Array(path.reversed()) == Array(QueryPath([2, "b", 1, "a"])))
    #expect(QueryPath(elements: path[1..<3]) == [1, "b"])
    #expect(path[4..<4].isEmpty)
    #expect(QueryPath(elements: path.prefix(2)) == ["a", 1])
    #expect(QueryPath().first == nil)
  }

  @Test func writesByPositionAndByRange() {
    var copy = path
    copy[0] = QueryPath.Element("z")
    copy.swapAt(1, 3)
    #expect(copy == ["z", 2, "b", 1])
    copy[1..<3] = QueryPath(["x", "y"])[0..<2]
    #expect(copy == ["z", "x", "y", 1])
    #expect(path == ["a", 1, "b", 2])
  }

  @Test func replacesRanges() {
    var copy = path
    copy.replaceSubrange(1..<3, with: [QueryPath.Element("x")])
    #expect(copy == ["a", "x", 2])
    copy.replaceSubrange(3..<3, with: QueryPath(["y", "z"]))
    #expect(copy == ["a", "x", 2, "y", "z"])
    copy.replaceSubrange(0..<5, with: [])
    #expect(copy == [])
    copy.replaceSubrange(0..<0, with: path)
    #expect(copy == path)
  }

  @Test func insertsRemovesAndJoins() {
    var copy = path
    copy.insert(QueryPath.Element("x"), at: 1)
    copy.insert(contentsOf: QueryPath([7, 8, 9]), at: 5)
    #expect(copy == ["a", "x", 1, "b", 2, 7, 8, 9])
    #expect(copy.remove(at: 0) == QueryPath.Element("a"))
    #expect(copy.removeLast() == QueryPath.Element(9))
    copy.removeSubrange(1...3)
    copy.removeAll { $0 == QueryPath.Element(7) }
    #expect(copy == ["x", 8])
    copy.reserveCapacity(10)
    copy.append(contentsOf: path)
    #expect(copy == QueryPath(["x", 8]) + path)
    copy.removeAll()
    #expect(copy == [])
  }

  @Test func insertionAtEveryPlaceKeepsAll() {
    for place in 0...path.count {
      for number in 0...3 {
        var copy = path
        copy.insert(contentsOf: (0..<number).map { QueryPath.Element($0) }, at: place)
        var expected = Array(path)
        expected.insert(contentsOf: (0..<number).map { QueryPath.Element($0) }, at: place)
        #expect(Array(copy) == expected)
        #expect(copy.hashValue == QueryPath(elements: expected).hashValue)
      }
    }
  }

  // MARK: - Traps

  @Test func readingPastTheEndTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = QueryPath(["a"])[1]
    }
    expectMessage(result)
  }

  @Test func readingBelowTheStartTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = QueryPath(["a"])[-1]
    }
    expectMessage(result)
  }

  @Test func writingPastTheEndTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var path = QueryPath()
      path[0] = QueryPath.Element("a")
    }
    expectMessage(result)
  }

  @Test func readingARangePastTheEndTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = QueryPath(["a"])[0..<2]
    }
    expectMessage(result)
  }

  @Test func replacingPastTheEndTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var path = QueryPath(["a"])
      path.replaceSubrange(2..<2, with: [])
    }
    expectMessage(result)
  }

  @Test func replacingBelowTheStartTraps() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var path = QueryPath(["a"])
      path.replaceSubrange(-1..<1, with: [])
    }
    expectMessage(result)
  }

  @Test func theMessageIsTheDocumentedOne() {
    #expect(QueryPath._indexOutOfRangeMessage == "QueryPath index out of range")
  }

  /// Only builds that are not optimised print the message of a precondition.
  private func expectMessage(
    _ result: ExitTest.Result?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #if DEBUG
      let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(
        output.contains("Precondition failed: \(QueryPath._indexOutOfRangeMessage)"),
        sourceLocation: sourceLocation
      )
    #endif
  }
}
