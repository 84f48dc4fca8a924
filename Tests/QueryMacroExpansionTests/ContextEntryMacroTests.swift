import Testing

@Suite struct ContextEntryMacroTests {
  @Test func aKeyKeepsTheDefault() {
    let expansion = Expansion(
      """
      extension QueryContext {
        @ContextEntry var api: any API = WebAPI()
        @ContextEntry var token: String?
        @ContextEntry var size = 20
      }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("self[__Key_api.self] = newValue"))
    #expect(expansion.text.contains("private enum __Key_api: QueryContext.Key {"))
    #expect(expansion.text.contains("static let defaultValue = QueryContext.__default_api"))
    #expect(expansion.text.contains("private static let __default_api: any API = WebAPI()"))
    #expect(expansion.text.contains("private static let __default_token: String? = nil"))
    #expect(expansion.text.contains("private static let __default_size = 20"))
  }

  /// In a module whose default is the main actor.
  @Test func theKeyOfAVariableOnNoActorIsOnNone() {
    let expansion = Expansion(
      "extension QueryContext { @ContextEntry nonisolated public var size = 20 }")
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("nonisolated private enum __Key_size: QueryContext.Key {"))
    #expect(expansion.text.contains("nonisolated private static let __default_size = 20"))
  }

  @Test func aKeyIsNamedAndTypedAsADeclarationCanBe() {
    let expansion = Expansion(
      """
      extension QueryContext {
        @ContextEntry var `default` = 1
        @ContextEntry var `page size` = 20
        @ContextEntry var token: String!
      }
      """)
    #expect(expansion.names.isEmpty)
    #expect(expansion.text.contains("private enum __Key_default: QueryContext.Key {"))
    #expect(expansion.text.contains("private enum `__Key_page size`: QueryContext.Key {"))
    #expect(expansion.text.contains("self[`__Key_page size`.self] = newValue"))
    #expect(expansion.text.contains("private static let __default_token: String? = nil"))
    #expect(expansion.text.contains("private static let `__default_page size` = 20"))
  }

  @Test(arguments: [
    ("struct A { @ContextEntry var a = 1 }", "notInContext"),
    ("extension QueryContext { @ContextEntry var a: Int { 1 } }", "entryAccessors"),
  ])
  func isRefused(_ source: String, _ name: String) {
    let expansion = Expansion(source)
    #expect(expansion.names == [name])
    #expect(expansion.mended == nil)
  }

  @Test(arguments: [
    (
      "extension QueryContext { @ContextEntry let a = 1 }", "constantEntry",
      "extension QueryContext { @ContextEntry var a = 1 }"
    ),
    (
      "extension QueryContext { @ContextEntry static var a = 1 }", "entryModifier",
      "extension QueryContext { @ContextEntry var a = 1 }"
    ),
    (
      "extension QueryContext { @ContextEntry public static var a = 1 }", "entryModifier",
      "extension QueryContext { @ContextEntry public var a = 1 }"
    ),
    (
      "extension QueryContext { @ContextEntry  static public var a = 1 }", "entryModifier",
      "extension QueryContext { @ContextEntry  public var a = 1 }"
    ),
    (
      "extension QueryContext { @ContextEntry var a: Int }", "noDefault",
      "extension QueryContext { @ContextEntry var a: Int = <#default#> }"
    ),
  ])
  func isRefusedWithAMend(_ source: String, _ name: String, _ mended: String) {
    let expansion = Expansion(source)
    #expect(expansion.names == [name])
    #expect(expansion.mended == mended)
  }
}
