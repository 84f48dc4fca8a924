import Query
import Testing

@Suite struct QueryPathTests {
  // MARK: - Building

  @Test func literalMakesAnElementForEachValue() {
    let path: QueryPath = [1, "a", true]
    #expect(path.count == 3)
    #expect(path.map { $0.description } == ["1", "\"a\"", "true"])
  }

  @Test func literalInTheInitialiserMakesAnElementForEachValue() {
    #expect(QueryPath([1, "a"]).count == 2)
    #expect(QueryPath(["a", "b"]).count == 2)
    #expect(QueryPath([1, 2, 3]).count == 3)
  }

  @Test func anArrayMakesAnElementForEachValueUnlessItIsAppended() {
    let names = ["a", "b"]
    #expect(QueryPath(names) == ["a", "b"])
    #expect(QueryPath([names]) == QueryPath(element: QueryPath.Element(names)))
    #expect(QueryPath().appending(names) == [names])
  }

  @Test func sequencesOfValuesAndOfElements() {
    let values: [any Hashable & Sendable] = ["a", 1]
    #expect(QueryPath(values) == ["a", 1])
    #expect(QueryPath(elements: values.map { QueryPath.Element($0) }) == ["a", 1])
    #expect(QueryPath(values.map { QueryPath.Element($0) }) == ["a", 1])
    #expect(QueryPath(element: QueryPath.Element("a")) == ["a"])
  }

  // MARK: - Equality

  @Test func equalityAndHashDoNotDependOnHowAPathWasBuilt() {
    var appended = QueryPath()
    appended.append("foo")
    let same = [
      QueryPath("foo"), QueryPath(["foo"]), ["foo"], QueryPath(element: .init("foo")), appended,
      QueryPath(elements: [.init("foo")]), QueryPath("foo").appending(QueryPath()),
      QueryPath(elements: QueryPath(["foo", "bar"]).dropLast()),
    ]
    for path in same {
      #expect(path == QueryPath("foo"))
      #expect(path.hashValue == QueryPath("foo").hashValue)
    }
    #expect(QueryPath() == QueryPath([]))
    #expect(QueryPath() == [])
    #expect(QueryPath().hashValue == QueryPath([]).hashValue)
  }

  @Test func equalityIsElementwise() {
    #expect(QueryPath("foo") != ["foo", "bar"])
    #expect(QueryPath(["a", "b"]) != ["b", "a"])
    #expect(QueryPath("foo") != [])
    #expect(QueryPath(["ab"]) != ["a", "b"])
    #expect(QueryPath([1, "a"]) == [1.0, "a"])
    #expect(QueryPath([1, "a"]).hashValue == QueryPath([1.0, "a"]).hashValue)
  }

  // MARK: - Prefixes

  @Test(
    arguments: [
      ([], [], true), ([], ["a"], true), (["a"], ["a"], true), (["a"], ["a", 1], true),
      ([1.0], [1, "a"], true), (["a", 1], ["a"], false), (["b"], ["a", "b"], false),
      (["a", 2], ["a", 1, 2], false), (["a"], [], false), (["a"], ["ab"], false),
    ] as [(QueryPath, QueryPath, Bool)])
  func prefixes(prefix: QueryPath, path: QueryPath, isPrefix: Bool) {
    #expect(prefix.isPrefix(of: path) == isPrefix)
  }

  // MARK: - Appending

  @Test func appendingPaths() {
    var path: QueryPath = ["a", 1]
    path.append(QueryPath(["b", 2]))
    #expect(path == ["a", 1, "b", 2])
    #expect(QueryPath(["a", 1]).appending(QueryPath(["b", 2])) == path)
    #expect(QueryPath(["a", 1]).appending(["b", 2]) == path)
  }

  @Test func appendingValuesAndElements() {
    var path: QueryPath = ["a"]
    path.append(1)
    path.append(QueryPath.Element("b"))
    #expect(path == ["a", 1, "b"])
    #expect(QueryPath("a").appending(1).appending(QueryPath.Element("b")) == path)
  }

  @Test func appendingTheEmptyPathIsIdentityOnEitherSide() {
    let path: QueryPath = ["a", 1]
    #expect(path.appending(QueryPath()) == path)
    #expect(QueryPath().appending(path) == path)
    var copy = path
    copy.append(QueryPath())
    #expect(copy == path)
  }

  @Test func aCopyIsNotChangedByAppending() {
    let path: QueryPath = ["a"]
    var copy = path
    copy.append("b")
    #expect(path == ["a"])
    #expect(copy == ["a", "b"])
  }

  // MARK: - Description

  @Test(
    arguments: [
      ([], "QueryPath([])"),
      ([1], "QueryPath([1])"),
      (["foo"], "QueryPath([\"foo\"])"),
      ([1, "foo", true, 2.5], "QueryPath([1, \"foo\", true, 2.5])"),
      ([Substring("foo")], "QueryPath([\"foo\"])"),
      ([["hello", "blob"], 1], "QueryPath([[\"hello\", \"blob\"], 1])"),
      ([Named(name: "x")], "QueryPath([<x>])"),
    ] as [(QueryPath, String)])
  func description(path: QueryPath, description: String) {
    #expect(path.description == description)
    #expect("\(path)" == description)
  }

  private struct Named: Hashable, CustomStringConvertible {
    let name: String
    var description: String { "<\(name)>" }
  }

  @Test func ofPathsThoseAreLeftThatNoOtherOneIsAPrefixOf() {
    let paths: [QueryPath] = [["a", 1], ["b"], ["a"], ["b", 2, 3], ["a"], ["ab", 1]]
    #expect(paths.outermost == [["b"], ["a"], ["ab", 1]])
    #expect([["a"], []].outermost == [[]])
    #expect([QueryPath]().outermost == [] && [["a"]].outermost == [["a"]])
  }
}
