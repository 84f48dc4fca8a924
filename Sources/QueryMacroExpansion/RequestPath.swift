import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The path that a request is declared with.
enum RequestPath {
  /// The elements are written out: arguments follow them.
  case elements(ArrayExprSyntax)
  /// A value: arguments follow its elements.
  case value(ExprSyntax)
  /// Made of the arguments.
  case closure(ClosureExprSyntax)

  /// The path of an attribute; nil if it has none.
  init?(of attribute: AttributeSyntax) {
    guard
      case .argumentList(let arguments) = attribute.arguments,
      let expression = arguments.first(where: { $0.label?.text == "path" })?.expression
    else { return nil }
    if let array = expression.as(ArrayExprSyntax.self) {
      self = .elements(array)
    } else if let closure = expression.as(ClosureExprSyntax.self) {
      self = .closure(closure)
    } else {
      self = .value(expression)
    }
  }

  /// The path of a request with these arguments, which have these names.
  func expression(_ arguments: [RequestParameter], names: [String]) -> String {
    let names = names.map(\.quoted)
    switch self {
    case .elements(let array):
      let elements = array.elements.map(\.expression.trimmedDescription) + names
      return "[\(elements.joined(separator: ", "))]"
    case .value(let value):
      let list = "[\(names.joined(separator: ", "))] as QueryPath"
      return names.isEmpty
        ? value.trimmedDescription
        // With its type, since a value such as `.posts` has it from the place where it stands.
        : "((\(value.trimmedDescription)) as QueryPath).appending(\(list))"
    case .closure(let closure):
      let types = arguments.map(\.type).joined(separator: ", ")
      let list = names.joined(separator: ", ")
      return "(\(closure.trimmedDescription) as (\(types)) -> QueryPath)(\(list))"
    }
  }

  /// What it names of what is around the function.
  var names: Set<String> {
    switch self {
    case .elements(let array): Self.names(in: array)
    case .value(let value): Self.names(in: value)
    case .closure(let closure):
      Self.names(in: closure.statements).subtracting(Self.parameters(of: closure).map(\.name))
    }
  }

  private static func names(in syntax: some SyntaxProtocol) -> Set<String> {
    let references = syntax.tokens(viewMode: .sourceAccurate).filter {
      // Behind a point stands a member of what is before it.
      $0.parent?.is(DeclReferenceExprSyntax.self) == true
        && $0.previousToken(viewMode: .sourceAccurate)?.tokenKind != .period
    }
    return Set(references.map(\.plainName))
  }

  /// What is wrong with it.
  func advice(for arguments: [RequestParameter], named name: String) -> [Diagnostic] {
    switch self {
    case .elements(let array):
      guard array.elements.isEmpty else { return [] }
      let mended: ExprSyntax = "[\(literal: name)]"
      return [
        Diagnostic(
          node: array, message: MacroAdvice.emptyPath,
          fixIt: .replace(
            message: MacroMend("begin the path with \"\(name)\""), oldNode: array, newNode: mended))
      ]
    case .value: return []
    case .closure(let closure): return Self.advice(of: closure, for: arguments)
    }
  }
}

// MARK: - Closures

extension RequestPath {
  private static func advice(
    of closure: ClosureExprSyntax,
    for arguments: [RequestParameter]
  ) -> [Diagnostic] {
    let parameters = Self.parameters(of: closure)
    guard parameters.map(\.type) == arguments.map(\.type) else {
      let wanted = arguments.map { "\($0.name.quoted): \($0.type)" }.joined(separator: ", ")
      let signature = arguments.isEmpty ? "" : "(\(wanted)) in "
      let mended: ExprSyntax = "{ \(raw: signature)\(closure.statements.trimmed) }"
      return [
        Diagnostic(
          node: closure, message: MacroAdvice.pathParameters(wanted),
          fixIt: .replace(
            message: MacroMend(
              arguments.isEmpty ? "take no parameters" : "take '(\(wanted))'"),
            oldNode: closure, newNode: mended))
      ]
    }
    let used = Set(closure.statements.tokens(viewMode: .sourceAccurate).map(\.plainName))
    return parameters.map(\.name).filter { $0 != "_" && !used.contains($0) }
      .map { Self.advice(of: closure, unused: $0) }
  }

  private static func advice(of closure: ClosureExprSyntax, unused name: String) -> Diagnostic {
    let advice = MacroAdvice.unusedInPath(name)
    guard
      closure.statements.count == 1,
      let array = closure.statements.first?.item.as(ArrayExprSyntax.self)
    else { return Diagnostic(node: closure, message: advice) }
    let elements = array.elements.map(\.expression.trimmedDescription) + [name.quoted]
    let list: ExprSyntax = "[\(raw: elements.joined(separator: ", "))]"
    let mended =
      list
      .with(\.leadingTrivia, array.leadingTrivia)
      .with(\.trailingTrivia, array.trailingTrivia)
    return Diagnostic(
      node: closure, message: advice,
      fixIt: .replace(
        message: MacroMend("end the path with '\(name)'"), oldNode: array, newNode: mended))
  }

  private static func parameters(
    of closure: ClosureExprSyntax
  ) -> [(name: String, type: String)] {
    switch closure.signature?.parameterClause {
    case .parameterClause(let clause):
      clause.parameters.map {
        (($0.secondName ?? $0.firstName).plainName, $0.type?.trimmedDescription ?? "")
      }
    case .simpleInput(let list): list.map { ($0.name.plainName, "") }
    default: []
    }
  }
}
