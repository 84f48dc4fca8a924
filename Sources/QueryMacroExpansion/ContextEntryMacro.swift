import SwiftDiagnostics
public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@ContextEntry`: makes a variable of an extension of `QueryContext` a property that is kept in the
/// context, with the variable's value as its default.
public struct ContextEntryMacro {}

extension ContextEntryMacro: AccessorMacro {
  /// Makes the getter and the setter.
  ///
  /// - Throws: `DiagnosticsError` with all that is wrong with the variable.
  public static func expansion(
    of node: AttributeSyntax,
    providingAccessorsOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [AccessorDeclSyntax] {
    let entry = try ContextEntry(of: node, on: declaration, in: context)
    return [
      "get { self[\(raw: entry.key).self] }", "set { self[\(raw: entry.key).self] = newValue }",
    ]
  }
}

extension ContextEntryMacro: PeerMacro {
  /// Makes the key with the default.
  public static func expansion(
    of node: AttributeSyntax,
    providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    // What is wrong was told when the accessors were made.
    guard let entry = try? ContextEntry(of: node, on: declaration, in: context) else { return [] }
    // The default stands outside the key, whose members have names that it may use.
    return [
      """
      \(raw: entry.isolation)private static let \(raw: entry.constant)\(raw: entry.type) = \(raw: entry.value)
      """,
      """
      \(raw: entry.isolation)private enum \(raw: entry.key): QueryContext.Key {
        static let defaultValue = QueryContext.\(raw: entry.constant)
      }
      """,
    ]
  }
}

/// A variable that is kept in the context.
private struct ContextEntry {
  let key: String
  let constant: String
  let type: String
  let value: String
  let isolation: String

  init(
    of attribute: AttributeSyntax,
    on declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws {
    guard
      let variable = declaration.as(VariableDeclSyntax.self), variable.bindings.count == 1,
      let binding = variable.bindings.first,
      let pattern = binding.pattern.as(IdentifierPatternSyntax.self)
    else {
      throw DiagnosticsError(diagnostics: [
        Diagnostic(node: attribute, message: MacroAdvice.notAVariable)
      ])
    }
    let name = pattern.identifier.plainName
    var advice = Self.advice(of: variable)
    let surrounding = context.lexicalContext.first?.as(ExtensionDeclSyntax.self)
    if !["QueryContext", "OperationContext"].contains(surrounding?.extendedType.lastName) {
      advice.append(Diagnostic(node: attribute, message: MacroAdvice.notInContext))
    }
    let type = binding.typeAnnotation?.type
    if let accessors = binding.accessorBlock {
      advice.append(Diagnostic(node: accessors, message: MacroAdvice.entryAccessors))
    } else if binding.initializer == nil, type?.isOptional != true {
      advice.append(Self.withoutDefault(binding, name: name))
    }
    guard advice.isEmpty else { throw DiagnosticsError(diagnostics: advice) }
    self.key = name.prefixed(by: "__Key_")
    self.constant = name.prefixed(by: "__default_")
    let isNonisolated = variable.modifiers.contains { $0.name.text == "nonisolated" }
    self.isolation = isNonisolated ? "nonisolated " : ""
    self.type = type.map { ": \($0.ofValue)" } ?? ""
    self.value = binding.initializer?.value.trimmedDescription ?? "nil"
  }

  private static func advice(of variable: VariableDeclSyntax) -> [Diagnostic] {
    var found = [Diagnostic]()
    let keyword = variable.bindingSpecifier
    if keyword.tokenKind == .keyword(.let) {
      found.append(
        Diagnostic(
          node: keyword, message: MacroAdvice.constantEntry,
          fixIt: .replace(
            message: MacroMend("make it a 'var'"), oldNode: keyword,
            newNode: keyword.with(\.tokenKind, .keyword(.var)))))
    }
    // An array: a list that is filtered has other nodes.
    let refused = Array(variable.modifiers).filter {
      ["static", "class", "lazy", "weak", "unowned"].contains($0.name.text)
    }
    for modifier in refused {
      found.append(
        Diagnostic(
          node: modifier, message: MacroAdvice.entryModifier(modifier.trimmedDescription),
          fixIt: .replace(
            message: MacroMend("remove '\(modifier.trimmedDescription)'"),
            oldNode: variable, newNode: Self.variable(variable, without: modifier))))
    }
    return found
  }

  /// The space before the first modifier stays.
  private static func variable(
    _ variable: VariableDeclSyntax, without modifier: DeclModifierSyntax
  ) -> VariableDeclSyntax {
    let left = variable.modifiers.filter { $0.id != modifier.id }
    let space = variable.modifiers.leadingTrivia
    return left.isEmpty
      ? variable.with(\.modifiers, []).with(\.bindingSpecifier.leadingTrivia, space)
      : variable.with(\.modifiers, left.with(\.leadingTrivia, space))
  }

  private static func withoutDefault(_ binding: PatternBindingSyntax, name: String) -> Diagnostic {
    let value: ExprSyntax = "<#default#>"
    let initializer = InitializerClauseSyntax(
      equal: .equalToken(leadingTrivia: .space, trailingTrivia: .space), value: value)
    return Diagnostic(
      node: binding, message: MacroAdvice.noDefault(name),
      fixIt: .replace(
        message: MacroMend("give it a default"), oldNode: binding,
        newNode: binding.trimmed.with(\.initializer, initializer)
          .with(\.trailingTrivia, binding.trailingTrivia)))
  }
}

extension TypeSyntax {
  fileprivate var isOptional: Bool {
    self.is(OptionalTypeSyntax.self) || self.is(ImplicitlyUnwrappedOptionalTypeSyntax.self)
      || self.lastName == "Optional"
  }
}
