public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@MutationRequest(path:)`: makes `$name`, a mutation, of the function `name`.
public struct MutationRequestMacro: PeerMacro {
  /// Makes the declaration.
  ///
  /// - Throws: `DiagnosticsError` with all that is wrong with the function.
  public static func expansion(
    of node: AttributeSyntax,
    providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let function = try RequestFunction(.mutation, of: node, on: declaration, in: context)
    let argument = function.arguments.first
    let argumentName = argument == nil ? "_" : function.unused("arguments")
    let contextName = function.takes(.context) ? function.unused("context") : "_"
    let continuationName =
      function.takes(.continuation) ? function.unused("continuation") : "_"
    let call = function.call(
      arguments: [argumentName], context: contextName, continuation: continuationName)
    let request = function.returning("BlockMutation(\(function.path.expression([], names: [])))")
    let names = "\(argumentName), \(contextName), \(continuationName)"
    let type = "BlockMutation<\(argument?.type ?? "Void"), \(function.result)>"
    return [
      """
      /// The mutation that runs `\(raw: function.fullName)`.
      \(raw: function.prefix)var \(raw: function.requestName): \(raw: type) {
        \(raw: request) { \(raw: names) in
          \(raw: call)
        }
      }
      """
    ]
  }
}
