import Testing

@Suite struct MutationRequestMacroTests {
  @Test func theArgumentIsThatOfTheFunction() {
    let expansion = Expansion(
      """
      @MutationRequest(path: ["create"])
      func create(_ title: String, context: QueryContext) async throws -> Int { 1 }
      """)
    #expect(expansion.names.isEmpty)
    #expect(
      expansion.text.hasSuffix(
        """
        /// The mutation that runs `create(_:context:)`.
        var $create: BlockMutation<String, Int> {
          BlockMutation(["create"]) { arguments, context, _ in
            try await create(arguments, context: context)
          }
        }
        """))
  }

  @Test func nothingIsTakenAndReturned() {
    let expansion = Expansion(
      """
      @MutationRequest(path: ["ping"])
      func ping() async {}
      """)
    #expect(expansion.text.contains("var $ping: BlockMutation<Void, Void> {"))
    #expect(expansion.text.contains("{ _, _, _ in"))
  }

  @Test func severalArgumentsAreRefused() {
    let expansion = Expansion(
      "@MutationRequest(path: [\"a\"]) func a(b: Int, c: Int) async -> Int { 1 }")
    #expect(expansion.names == ["severalArguments"])
  }

  @Test(arguments: [
    (
      "@MutationRequest(path: [\"a\"]) func a(b: Int = 1) async -> Int { 1 }", "argumentDefault",
      "@MutationRequest(path: [\"a\"]) func a(b: Int) async -> Int { 1 }"
    ),
    (
      "@MutationRequest func a() async {}", "noPath",
      "@MutationRequest(path: [\"a\"]) func a() async {}"
    ),
  ])
  func isRefusedWithAMend(_ source: String, _ name: String, _ mended: String) {
    let expansion = Expansion(source)
    #expect(expansion.names == [name])
    #expect(expansion.mended == mended)
  }
}
