import Testing

@Suite struct QueryRequestMacroTests {
  @Test func argumentsFollowThePath() {
    let expansion = Expansion(
      """
      @QueryRequest(path: ["posts"])
      public func post(_ id: Int, in language: String = "en", context: QueryContext) async throws -> Post {
        fatalError()
      }
      """)
    #expect(expansion.names.isEmpty)
    #expect(
      expansion.text.hasSuffix(
        """
        /// The query that runs `post(_:in:context:)`.
        public func $post(_ id: Int, in language: String = "en") -> BlockQuery<Post> {
          BlockQuery(["posts", id, language]) { context, _ in
            try await post(id, in: language, context: context)
          }
        }
        """))
  }

  @Test func withoutArgumentsItIsAVariable() {
    let expansion = Expansion(
      """
      enum Post {
        @QueryRequest(path: ["posts"])
        @available(*, deprecated)
        static func all(continuation: QueryContinuation<[Int]>) async -> [Int] { [] }
      }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("static var $all: BlockQuery<[Int]> {"))
    #expect(expansion.text.contains("BlockQuery([\"posts\"]) { _, continuation in"))
    #expect(expansion.text.contains("    await Self.all(continuation: continuation)"))
    #expect(expansion.text.components("@available(*, deprecated)") == 2)
  }

  @Test func aClosureGivesArgumentsTheirPlaces() {
    let expansion = Expansion(
      """
      @QueryRequest(path: { (user: Int, _: Bool) in ["users", user, "posts"] })
      func posts(user: Int, hint: Bool) async -> Int { 1 }
      """)
    #expect(expansion.names.isEmpty)
    let path =
      #"({ (user: Int, _: Bool) in ["users", user, "posts"] } as (Int, Bool) -> QueryPath)"#
    #expect(expansion.words.contains("BlockQuery(\(path)(user, hint)) {"))
  }

  @Test func aPathElsewhereIsContinued() {
    let expansion = Expansion(
      """
      @QueryRequest(path: Paths.posts)
      func post(id: Int) async -> Int { 1 }
      """)
    let path = "((Paths.posts) as QueryPath).appending([id] as QueryPath)"
    #expect(expansion.text.contains("BlockQuery(\(path))"))
  }

  @Test func namesOfTheUserAreNotHidden() {
    let expansion = Expansion(
      """
      @QueryRequest(path: ["a"])
      func post(post: Int, context: Int, c: QueryContext) async -> Int { 1 }
      """)
    #expect(expansion.text.contains("func $post(post post_: Int, context: Int)"))
    #expect(expansion.text.contains("{ context_, _ in"))
    #expect(expansion.text.contains("await post(post: post_, context: context, c: context_)"))
  }

  @Test(arguments: [
    ("[\"a\", key]", "[\"a\", key, key_, id]"),
    ("Key(key)", "((Key(key)) as QueryPath).appending([key_, id] as QueryPath)"),
    (
      "{ (id: Int, b: Int) in [key, id, b] }",
      "({ (id: Int, b: Int) in [key, id, b] } as (Int, Int) -> QueryPath)(key_, id)"
    ),
    ("[\"a\", A.key]", "[\"a\", A.key, key, id]"),
  ])
  func whatThePathNamesIsNotHidden(_ path: String, _ expanded: String) {
    let expansion = Expansion(
      "@QueryRequest(path: \(path)) func a(key: Int, _ id: Int) async -> Int { 1 }")
    #expect(expansion.names.isEmpty)
    #expect(expansion.words.contains("BlockQuery(\(expanded)) {"))
    let local = expanded.contains("key_") ? "key_" : "key"
    #expect(expansion.text.contains("await a(key: \(local), id)"))
  }

  @Test func anArgumentWithoutANameIsGivenOne() {
    let expansion = Expansion(
      "@QueryRequest(path: [\"a\"]) func a(hint _: Int, _ _: Int) async -> Int { 1 }")
    #expect(expansion.text.contains("func $a(hint __: Int, _ ___: Int)"))
    #expect(expansion.text.contains("BlockQuery([\"a\", __, ___])"))
    #expect(expansion.text.contains("await a(hint: __, ___)"))
  }

  @Test(arguments: [
    ("[\"a\"]", #"["a", `default`, `in`, `await`]"#),
    ("A.b", #"((A.b) as QueryPath).appending([`default`, `in`, `await`] as QueryPath)"#),
    (
      "{ (`default`: Int, b: Int, c: Int) in [`default`, b, c] }",
      """
      ({ (`default`: Int, b: Int, c: Int) in [`default`, b, c] } as (Int, Int, Int) -> QueryPath)\
      (`default`, `in`, `await`)
      """
    ),
  ])
  func aKeywordIsAName(_ path: String, _ expanded: String) {
    let expansion = Expansion(
      """
      @QueryRequest(path: \(path))
      func a(default: Int, _ in: Int, `await`: Int, `context`: QueryContext) async -> Int { 1 }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("func $a(default: Int, _ `in`: Int, `await`: Int)"))
    #expect(expansion.words.contains("BlockQuery(\(expanded)) {"))
    let call = "await a(default: `default`, `in`, await: `await`, context: context)"
    #expect(expansion.text.contains(call))
  }

  @Test func backticksMakeNoOtherName() {
    let expansion = Expansion(
      """
      @QueryRequest(path: ["a"])
      func `a b`(`context`: Int, c: QueryContext) async -> Int { 1 }
      """)
    #expect(expansion.text.contains("func `$a b`(`context`: Int)"))
    #expect(expansion.text.contains("{ context_, _ in"))
    #expect(expansion.text.contains("await `a b`(context: context, c: context_)"))
  }

  @Test(arguments: ["extension A", "extension A { enum B"])
  func theCompilerRefusesAnExtensionOfAGenericType(_ opening: String) {
    let expansion = Expansion(
      """
      \(opening) {
        @QueryRequest(path: ["a"]) static func a() async -> Int { 1 }
        @MutationRequest(path: ["b"]) static func b() async {}
      \(opening.contains("{") ? "}}" : "}")
      """)
    #expect(expansion.names.isEmpty)
    let refused = "requests of different types would share a store; move the function out of"
    #expect(expansion.text.components("enum `\(refused) the generic type or protocol` {") == 2)
    #expect(expansion.text.components("static let refused: Void = ()") == 2)
    #expect(expansion.text.contains("return BlockQuery([\"a\"]) {"))
    #expect(expansion.text.contains("return BlockMutation([\"b\"]) {"))
  }

  @Test(arguments: [
    ("class A {", "[\"a\"]", "A"),
    ("class A {", "[\"a\", kind]", "Self"),
    ("class A {", "Self.path", "Self"),
    ("extension A.B {", "[\"a\"]", "A.B"),
    ("extension A.B {", "[Self.kind]", "Self"),
    ("class A {", "[String(1)]", "A"),
    ("class A {", "[Self.kind, String(1)]", "Self"),
    ("struct A {", "[\"a\"]", "Self"),
  ])
  func aSubclassMakesNoOtherValueOfTheSamePath(_ opening: String, _ path: String, _ owner: String) {
    let expansion = Expansion(
      "\(opening) @QueryRequest(path: \(path)) static func a() async -> Int { 1 } }")
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("await \(owner).a()"))
  }

  /// What is captured stands outside the parameters, which would hide it.
  @Test func whatAPathCapturesIsNotHidden() {
    let expansion = Expansion(
      """
      @QueryRequest(path: { [v = version, key] (n: Int, k: Int) in ["a", v, n, key, k] })
      func a(version: Int, key: Int) async -> Int { 1 }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("func $a(version version_: Int, key key_: Int)"))
    #expect(expansion.text.contains("(version_, key_)"))
  }

  @Test(arguments: [
    ("nonisolated(nonsending) func a(b: Int) async -> Int { 1 }", "nonisolated func $a(b: Int)"),
    ("nonisolated func a(b: Int) async -> Int { 1 }", "nonisolated func $a(b: Int)"),
    ("@concurrent func a(b: Int) async -> Int { 1 }", "nonisolated func $a(b: Int)"),
    ("@concurrent nonisolated func a(b: Int) async -> Int { 1 }", "nonisolated func $a(b: Int)"),
    ("func a(b: consuming Int) async -> Int { 1 }", "func $a(b: Int) -> BlockQuery<Int>"),
    ("func a(b: sending Int) async -> sending Int { 1 }", "func $a(b: Int) -> BlockQuery<Int>"),
    ("func a(b: Int!) async -> Int! { 1 }", "func $a(b: Int?) -> BlockQuery<Int?>"),
    ("func a(b: Int, c: (QueryContext)) async -> Int { 1 }", "func $a(b: Int) -> BlockQuery<Int>"),
    ("func a(`default`: Int) async -> Int { 1 }", "await a(default: "),
    ("func a(`in`: Int) async -> Int { 1 }", "await a(in: "),
    ("func a(`inout`: Int) async -> Int { 1 }", "await a(`inout`: "),
    ("func a(`b c`: Int) async -> Int { 1 }", "await a(`b c`: "),
  ])
  func aRequestTakesAndReturnsValuesHoweverTheFunctionIsWritten(
    _ function: String, _ expanded: String
  ) {
    let expansion = Expansion("@QueryRequest(path: [\"a\"]) \(function)")
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains(expanded), "\(expansion.text)")
    #expect(!expansion.text.contains("nonisolated nonisolated"))
  }

  /// The compiler would put the function's new name in the place of the request.
  @Test func theNewNameOfAFunctionIsNotThatOfItsRequest() {
    let expansion = Expansion(
      """
      @available(*, deprecated, message: "no", renamed: "b")
      @QueryRequest(path: ["a"]) func a() async -> Int { 1 }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("@available(*, deprecated, message: \"no\")\n"))
  }

  @Test func aFinalFunctionOfAClassIsNotOverridden() {
    let expansion = Expansion(
      "class A { @QueryRequest(path: [\"a\"]) final class func a() async -> Int { 1 } }")
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("static var $a: BlockQuery<Int> {"))
  }

  @Test(arguments: [
    ("@QueryRequest(path: [\"a\"]) var a: Int { 1 }", "notAFunction"),
    ("@QueryRequest(path: [\"a\"]) func a<T>(_ t: T) async -> Int { 1 }", "generic"),
    ("@QueryRequest(path: [\"a\"]) func a(_ t: some Hashable) async -> Int { 1 }", "generic"),
    ("@QueryRequest(path: [\"a\"]) func a() async -> some Hashable { 1 }", "opaqueResult"),
    (
      "@QueryRequest(path: [\"a\"]) func a(f: @escaping () -> Int) async -> Int { 1 }",
      "closureParameter"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a(i: isolated (any Actor)?) async -> Int { 1 }",
      "isolatedParameter"
    ),
    (
      "struct A<T> { @QueryRequest(path: [\"a\"]) static func a() async -> Int { 1 } }",
      "genericType"
    ),
    ("protocol A { @QueryRequest(path: [\"a\"]) static func a() async -> Int }", "noBody"),
    ("func b() { @QueryRequest(path: [\"a\"]) func a() async -> Int { 1 } }", "localFunction"),
    ("@QueryRequest(path: { [] }) func a() async -> Int { 1 }", "emptyPath"),
    ("@QueryRequest(path: { (_: Int) in [] }) func a(b: Int) async -> Int { 1 }", "emptyPath"),
    ("@QueryRequest(path: QueryPath()) func a() async -> Int { 1 }", "emptyPath"),
    ("@QueryRequest(path: .init()) func a(b: Int) async -> Int { 1 }", "emptyPath"),
    (
      "class A { @QueryRequest(path: [\"a\"]) open func a() async -> Int { 1 } }", "instanceMethod"
    ),
    (
      "struct A { @QueryRequest(path: [\"a\"]) mutating func a() async -> Int { 1 } }",
      "instanceMethod"
    ),
    (
      "@QueryRequest(path: { (b: Int) in [\"a\", b] }) func a(b: Int) async {}", "queryWithoutValue"
    ),
    // The name of an argument in a text, of a member or of a label.
    (
      "@QueryRequest(path: { (b: Int) in return [\"a\", \"b\"] }) func a(b: Int) async -> Int { 1 }",
      "unusedInPath"
    ),
  ])
  func isRefused(_ source: String, _ name: String) {
    let expansion = Expansion(source)
    #expect(expansion.names == [name])
    #expect(expansion.mended == nil)
  }

  @Test(arguments: [
    (
      "@QueryRequest func a() async -> Int { 1 }", "noPath",
      "@QueryRequest(path: [\"a\"]) func a() async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: []) func a() async -> Int { 1 }", "emptyPath",
      "@QueryRequest(path: [\"a\"]) func a() async -> Int { 1 }"
    ),
    (
      "struct A { @QueryRequest(path: [\"a\"]) func a() async -> Int { 1 } }", "instanceMethod",
      "struct A { @QueryRequest(path: [\"a\"]) static func a() async -> Int { 1 } }"
    ),
    (
      "class A { @QueryRequest(path: [\"a\"]) open class func a() async -> Int { 1 } }",
      "classMethod",
      "class A { @QueryRequest(path: [\"a\"]) public static func a() async -> Int { 1 } }"
    ),
    (
      "extension A { @MutationRequest(path: [\"a\"]) class func a() async {} }", "classMethod",
      "extension A { @MutationRequest(path: [\"a\"]) static func a() async {} }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a() throws -> Int { 1 }", "notAsync",
      "@QueryRequest(path: [\"a\"]) func a() async throws -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a() -> Int { 1 }", "notAsync",
      "@QueryRequest(path: [\"a\"]) func a() async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a() async { }", "queryWithoutValue",
      "@MutationRequest(path: [\"a\"]) func a() async { }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a(b: inout Int) async -> Int { 1 }", "inoutParameter",
      "@QueryRequest(path: [\"a\"]) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a(b: Int...) async -> Int { 1 }", "variadicParameter",
      "@QueryRequest(path: [\"a\"]) func a(b: [Int]) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: [\"a\"]) func a(b: QueryContext, c: QueryContext) async -> Int { 1 }",
      "repeatedParameter",
      "@QueryRequest(path: [\"a\"]) func a(b: QueryContext) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { [\"a\"] }) func a(b: Int) async -> Int { 1 }", "pathParameters",
      "@QueryRequest(path: { (b: Int) in [\"a\"] }) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { [\"a\"] }) func a(in: Int) async -> Int { 1 }", "pathParameters",
      "@QueryRequest(path: { (`in`: Int) in [\"a\"] }) func a(in: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { (`in`: Int) in [\"a\"] }) func a(b: Int) async -> Int { 1 }",
      "unusedInPath",
      "@QueryRequest(path: { (`in`: Int) in [\"a\", `in`] }) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { (b: Int) in [\"b\", c.b, d(b: 1)] }) func a(b: Int) async -> Int { 1 }",
      "unusedInPath",
      "@QueryRequest(path: { (b: Int) in [\"b\", c.b, d(b: 1), b] }) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { [\"a\", $0, $1] }) func a(_: Int, in _: Int) async -> Int { 1 }",
      "pathParameters",
      "@QueryRequest(path: { (argument1: Int, `in`: Int) in [\"a\", argument1, `in`] }) "
        + "func a(_: Int, in _: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { [v] x in [v, x] }) func a(b: Int) async -> Int { 1 }",
      "pathParameters",
      "@QueryRequest(path: { [v] (x: Int) in [v, x] }) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@QueryRequest(path: { (b: Int) in [\"a\"] }) func a(b: Int) async -> Int { 1 }",
      "unusedInPath",
      "@QueryRequest(path: { (b: Int) in [\"a\", b] }) func a(b: Int) async -> Int { 1 }"
    ),
  ])
  func isRefusedWithAMend(_ source: String, _ name: String, _ mended: String) {
    let expansion = Expansion(source)
    #expect(expansion.names == [name])
    #expect(expansion.mended == mended)
  }

  @Test(arguments: ["(() -> Int)?", "(() -> Int)", "@Sendable () -> Int", "(@Sendable () -> Int)?"])
  func aFunctionIsRefusedHoweverItIsWritten(_ type: String) {
    let expansion = Expansion(
      "@QueryRequest(path: [\"a\"]) func a(f: \(type)) async -> Int { 1 }")
    #expect(expansion.names == ["closureParameter"])
  }

  @Test(arguments: ["(Int)", "(Int)?", "(Int, Int)", "[() -> Int]"])
  func whatIsNoFunctionIsTakenHoweverItIsWritten(_ type: String) {
    let expansion = Expansion(
      "@QueryRequest(path: [\"a\"]) func a(b: \(type)) async -> Int { 1 }")
    #expect(expansion.names.isEmpty)
  }
}

extension String {
  /// How many times a text occurs.
  func components(_ text: String) -> Int { self.ranges(of: text).count }
}
