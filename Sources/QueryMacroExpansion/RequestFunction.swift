import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// A function that a request is made of, with the path of the request.
struct RequestFunction {
  let kind: RequestKind
  let syntax: FunctionDeclSyntax
  let path: RequestPath
  let parameters: [RequestParameter]
  let isMember: Bool

  /// Reads a declaration.
  ///
  /// - Throws: `DiagnosticsError` with all that is wrong with it.
  init(
    _ kind: RequestKind,
    of attribute: AttributeSyntax,
    on declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws {
    guard let function = declaration.as(FunctionDeclSyntax.self) else {
      throw DiagnosticsError(diagnostics: [
        Diagnostic(node: attribute, message: MacroAdvice.notAFunction(kind))
      ])
    }
    let checks = FunctionChecks(kind: kind, attribute: attribute, function: function)
    var advice = checks.ofPlace(context.lexicalContext) + checks.ofSignature()
    self.parameters = function.signature.parameterClause.parameters.map(RequestParameter.init)
    advice += checks.ofParameters(self.parameters)
    let arguments = self.parameters.filter { $0.role == .argument }
    let path = RequestPath(of: attribute)
    if let path {
      let identifying = kind == .query ? arguments : []
      advice += path.advice(for: identifying, named: function.plainName)
    } else {
      advice.append(checks.withoutPath())
    }
    guard advice.isEmpty, let path else { throw DiagnosticsError(diagnostics: advice) }
    self.kind = kind
    self.syntax = function
    self.path = path
    self.isMember = context.lexicalContext.first.map { !$0.is(FunctionDeclSyntax.self) } ?? false
  }

  /// The parameters that the caller of the request gives.
  var arguments: [RequestParameter] { self.parameters.filter { $0.role == .argument } }

  /// What the function returns.
  var result: String {
    self.syntax.signature.returnClause?.type.trimmedDescription ?? "Void"
  }

  /// A name that means nothing else in the function's place.
  func unused(_ name: String) -> String {
    let taken = Set(self.arguments.map(\.name) + [self.syntax.plainName])
    var unused = name
    while taken.contains(unused) { unused += "_" }
    return unused
  }

  /// What an argument is called in what is made; a name of its own if it hides the function.
  func localName(of argument: RequestParameter) -> String {
    let isHiding = argument.name == self.syntax.plainName && !self.isMember
    return isHiding ? self.unused(argument.name) : argument.name
  }

  /// The call of the function, with what is given for each role.
  func call(arguments: [String], context: String, continuation: String) -> String {
    var left = arguments[...]
    let list = self.parameters.map { parameter in
      let value =
        switch parameter.role {
        case .argument: left.popFirst() ?? parameter.name
        case .context: context
        case .continuation: continuation
        }
      return parameter.label.map { "\($0): \(value)" } ?? value
    }
    let effects = self.syntax.signature.effectSpecifiers?.throwsClause == nil ? "" : "try "
    let name = "\(self.isMember ? "Self." : "")\(self.syntax.name.text)"
    return "\(effects)await \(name)(\(list.joined(separator: ", ")))"
  }

  /// Whether the function takes what has a role.
  func takes(_ role: RequestParameter.Role) -> Bool {
    self.parameters.contains { $0.role == role }
  }

  /// What stands before `func` or `var` of the declaration that is made.
  var prefix: String {
    let attributes = self.syntax.attributes.compactMap { element -> String? in
      guard
        case .attribute(let attribute) = element,
        attribute.attributeName.trimmedDescription == "available"
      else { return nil }
      return attribute.trimmedDescription + "\n"
    }
    let modifiers = self.syntax.modifiers.compactMap { modifier -> String? in
      switch modifier.name.text {
      case "public", "package", "internal", "fileprivate", "private", "static", "nonisolated":
        modifier.trimmedDescription + " "
      case "open": "public "
      case "class": "static "
      default: nil
      }
    }
    return attributes.joined() + modifiers.joined()
  }

  /// The function's name with its labels, as documents name it.
  var fullName: String {
    "\(self.syntax.plainName)(\(self.parameters.map { "\($0.label ?? "_"):" }.joined()))"
  }
}

extension FunctionDeclSyntax {
  /// Its name, without backticks.
  var plainName: String { self.name.identifier?.name ?? self.name.text }
}
