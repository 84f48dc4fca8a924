import QueryMacroExpansion
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// What the compiler starts to expand the macros of `QueryMacros`.
///
/// The toolchain has no `SwiftCompilerPlugin`, whose `CompilerPlugin` would be this type.
@main
struct QueryMacroPlugin: PluginProvider {
  func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
    guard let type = MacroTable.macros[typeName] else {
      throw UnknownMacro(name: "\(moduleName).\(typeName)")
    }
    return type
  }

  static func main() throws {
    let listener = CompilerPluginMessageListener(
      connection: try StandardIOMessageConnection(), provider: Self())
    try listener.main()
  }
}

/// The declaration of a macro names a type that this plugin has not.
private struct UnknownMacro: Error, CustomStringConvertible {
  let name: String

  var description: String { "the plugin of QueryMacros has no macro \(self.name)" }
}
