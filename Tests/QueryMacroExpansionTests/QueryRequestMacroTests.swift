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
    let words = expansion.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let path =
      #"({ (user: Int, _: Bool) in ["users", user, "posts"] } as (Int, Bool) -> QueryPath)"#
    #expect(words.contains("BlockQuery(\(path)(user, hint)) {"))
  }

  @Test func aPathElsewhereIsContinued() {
    let expansion = Expansion(
      """
      @QueryRequest(path: Paths.posts)
      func post(id: Int) async -> Int { 1 }
      """)
    #expect(expansion.text.contains("BlockQuery((Paths.posts).appending([id] as QueryPath))"))
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
}

extension String {
  /// How many times a text occurs.
  func components(_ text: String) -> Int { self.ranges(of: text).count }
}
