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
  /// The type that the function is called on; nil for a global function.
  let owner: String?
  let isInExtension: Bool

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
    self.owner = context.lexicalContext.first.map { Self.owner($0, path: path) }
    self.isInExtension = context.lexicalContext.contains { $0.is(ExtensionDeclSyntax.self) }
  }

  /// `Self` can be a subclass. A path that names nothing but types is the same for it, so the function that
  /// runs has to be, too.
  private static func owner(_ surrounding: Syntax, path: RequestPath) -> String {
    let isOfAType = { (name: String) in name != "Self" && name.first?.isUppercase == true }
    guard path.names.allSatisfy(isOfAType) else { return "Self" }
    if let type = surrounding.as(ClassDeclSyntax.self) { return type.name.text }
    // It may extend a class.
    let extended = surrounding.as(ExtensionDeclSyntax.self)?.extendedType
    return extended?.trimmedDescription ?? "Self"
  }

  /// The parameters that the caller of the request gives.
  var arguments: [RequestParameter] { self.parameters.filter { $0.role == .argument } }

  /// What the request is called.
  var requestName: String { self.syntax.plainName.prefixed(by: "$") }

  /// What the function returns.
  var result: String {
    self.syntax.signature.returnClause?.type.ofValue ?? "Void"
  }

  /// A name that means nothing else in the closure of the request.
  func unused(_ name: String) -> String {
    Self.name(name, outOf: Set(self.localNames + [self.syntax.plainName]))
  }

  private static func name(_ name: String, outOf taken: Set<String>) -> String {
    var unused = name
    while taken.contains(unused) { unused += "_" }
    return unused
  }

  /// What the arguments are called in what is made, without backticks: as in the function, but for one
  /// that has no name there, or a name that would hide the function or what the path names.
  var localNames: [String] {
    let hidden = self.path.names.union(self.owner == nil ? ["_", self.syntax.plainName] : ["_"])
    var taken = hidden.union(self.arguments.map(\.name))
    return self.arguments.map { argument in
      guard hidden.contains(argument.name) else { return argument.name }
      let name = Self.name(argument.name, outOf: taken)
      taken.insert(name)
      return name
    }
  }

  /// The call of the function, with what is given for each role.
  func call(arguments: [String], context: String, continuation: String) -> String {
    var left = arguments[...]
    let list = self.parameters.map { parameter in
      let value =
        switch parameter.role {
        case .argument: (left.popFirst() ?? parameter.name).quoted
        case .context: context
        case .continuation: continuation
        }
      return parameter.label.map { "\($0): \(value)" } ?? value
    }
    let effects = self.syntax.signature.effectSpecifiers?.throwsClause == nil ? "" : "try "
    let name = "\(self.owner.map { "\($0)." } ?? "")\(self.syntax.name.text)"
    return "\(effects)await \(name)(\(list.joined(separator: ", ")))"
  }

  /// What returns the request: in an extension behind what the compiler refuses if the extended type is
  /// generic or a protocol, which the extension does not say.
  func returning(_ request: String) -> String {
    guard self.isInExtension else { return request }
    let refusal = """
      requests of different types would share a store; move the function out of the generic type or \
      protocol
      """
    return "enum `\(refusal)` { static let refused: Void = () }\nreturn \(request)"
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
      return Self.withoutRenaming(attribute) + "\n"
    }
    var modifiers = self.syntax.modifiers.compactMap { modifier -> String? in
      switch modifier.name.text {
      case "public", "package", "internal", "fileprivate", "private", "static":
        modifier.trimmedDescription + " "
      // What makes the request is not async, and so not `nonisolated(nonsending)`.
      case "nonisolated": "nonisolated "
      case "class": "static "
      default: nil
      }
    }
    // The function is on no actor, whatever is the default of its module.
    let isConcurrent = self.syntax.attributes.contains { element in
      element.as(AttributeSyntax.self)?.attributeName.trimmedDescription == "concurrent"
    }
    if isConcurrent, !modifiers.contains("nonisolated ") { modifiers.append("nonisolated ") }
    return attributes.joined() + modifiers.joined()
  }

  /// An availability without the new name, which is the function's and not the request's.
  private static func withoutRenaming(_ attribute: AttributeSyntax) -> String {
    guard case .availability(let list) = attribute.arguments else {
      return attribute.trimmedDescription
    }
    let kept = list.filter { element in
      guard case .availabilityLabeledArgument(let argument) = element.argument else { return true }
      return argument.label.text != "renamed"
    }
    let arguments = kept.map(\.argument.trimmedDescription).joined(separator: ", ")
    return "@available(\(arguments))"
  }

  /// The function's name with its labels, as documents name it.
  var fullName: String {
    "\(self.syntax.plainName)(\(self.parameters.map { "\($0.label ?? "_"):" }.joined()))"
  }
}
