public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@QueryRequest(path:)`: makes `$name`, a query, of the function `name`.
public struct QueryRequestMacro: PeerMacro {
  /// Makes the declaration.
  ///
  /// - Throws: `DiagnosticsError` with all that is wrong with the function.
  public static func expansion(
    of node: AttributeSyntax,
    providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let function = try RequestFunction(.query, of: node, on: declaration, in: context)
    let names = function.localNames
    let contextName = function.takes(.context) ? function.unused("context") : "_"
    let continuationName =
      function.takes(.continuation) ? function.unused("continuation") : "_"
    let call = function.call(
      arguments: names, context: contextName, continuation: continuationName)
    let path = function.path.expression(function.arguments, names: names)
    let request = function.returning("BlockQuery(\(path))")
    let name = function.requestName
    let parameters = zip(function.arguments, names).map { argument, name in
      let label = argument.syntax.firstName
      let value = argument.syntax.defaultValue.map { " \($0.trimmedDescription)" } ?? ""
      let local = label.plainName == name ? "" : " \(name.quoted)"
      return "\(label.text)\(local): \(argument.type)\(value)"
    }
    let head =
      parameters.isEmpty
      ? "var \(name):" : "func \(name)(\(parameters.joined(separator: ", "))) ->"
    return [
      """
      /// The query that runs `\(raw: function.fullName)`.
      \(raw: function.prefix)\(raw: head) BlockQuery<\(raw: function.result)> {
        \(raw: request) { \(raw: contextName), \(raw: continuationName) in
          \(raw: call)
        }
      }
      """
    ]
  }
}
