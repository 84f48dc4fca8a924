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
        .union(Self.captures(of: closure))
    }
  }

  /// What the list of captures names: it stands outside the closure's parameters.
  private static func captures(of closure: ClosureExprSyntax) -> Set<String> {
    guard let items = closure.signature?.capture?.items else { return [] }
    return items.reduce(into: []) { names, capture in
      if let initializer = capture.initializer {
        names.formUnion(Self.names(in: initializer))
      } else {
        names.insert(capture.name.plainName)
      }
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
    case .value(let value):
      let empty =
        ["QueryPath", "OperationPath"].flatMap { ["\($0)()", "\($0).init()"] } + [".init()"]
      guard empty.contains(value.trimmedDescription) else { return [] }
      return [Diagnostic(node: value, message: MacroAdvice.emptyPath)]
    case .closure(let closure):
      if closure.statements.count == 1,
        closure.statements.first?.item.as(ArrayExprSyntax.self)?.elements.isEmpty == true
      {
        return [Diagnostic(node: closure, message: MacroAdvice.emptyPath)]
      }
      return Self.advice(of: closure, for: arguments)
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
      return [Self.advice(of: closure, with: parameters.map(\.name), insteadOf: arguments)]
    }
    let used = Self.names(in: closure.statements)
    return parameters.map(\.name).filter { $0 != "_" && !used.contains($0) }
      .map { Self.advice(of: closure, unused: $0) }
  }

  /// The parameters are others than those of the function. They keep their names if there are as many.
  private static func advice(
    of closure: ClosureExprSyntax, with given: [String], insteadOf arguments: [RequestParameter]
  ) -> Diagnostic {
    let names =
      given.count == arguments.count
      ? given.map(\.quoted)
      : arguments.enumerated().map { index, argument in
        let label = argument.syntax.firstName.plainName
        let name = argument.name == "_" ? label : argument.name
        return name == "_" ? "argument\(index + 1)" : name.quoted
      }
    let wanted = zip(names, arguments).map { "\($0): \($1.type)" }.joined(separator: ", ")
    let captures = closure.signature?.capture.map { "\($0.trimmed) " } ?? ""
    let parameters = arguments.isEmpty ? "" : "(\(wanted)) "
    let signature = captures + parameters
    var statements = closure.statements.trimmedDescription
    // From the last, so that `$1` is not taken for the beginning of `$10`.
    for (index, name) in names.enumerated().reversed() {
      statements = statements.replacing("$\(index)", with: name)
    }
    let mended: ExprSyntax =
      "{ \(raw: signature)\(raw: signature.isEmpty ? "" : "in ")\(raw: statements) }"
    return Diagnostic(
      node: closure, message: MacroAdvice.pathParameters(wanted),
      fixIt: .replace(
        message: MacroMend(arguments.isEmpty ? "take no parameters" : "take '(\(wanted))'"),
        oldNode: closure, newNode: mended))
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
