import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// What is asked of a function before a request is made of it.
struct FunctionChecks {
  let kind: RequestKind
  let attribute: AttributeSyntax
  let function: FunctionDeclSyntax

  private func diagnose(_ advice: MacroAdvice, at node: some SyntaxProtocol) -> Diagnostic {
    Diagnostic(node: node, message: advice)
  }

  private func diagnose(
    _ advice: MacroAdvice,
    at node: some SyntaxProtocol,
    _ mend: String,
    replacing old: some SyntaxProtocol,
    by new: some SyntaxProtocol
  ) -> Diagnostic {
    Diagnostic(
      node: node, message: advice,
      fixIt: .replace(message: MacroMend(mend), oldNode: old, newNode: new))
  }
}

// MARK: - Path

extension FunctionChecks {
  /// The attribute has no path: a path of the function's name is offered.
  func withoutPath() -> Diagnostic {
    let name = self.function.plainName
    let mended: AttributeSyntax = "@\(raw: self.kind.rawValue)(path: [\(literal: name)])"
    return self.diagnose(
      .noPath(self.kind), at: self.attribute, "give it the path [\"\(name)\"]",
      replacing: self.attribute,
      by: mended.with(\.leadingTrivia, self.attribute.leadingTrivia)
        .with(\.trailingTrivia, self.attribute.trailingTrivia))
  }
}

// MARK: - Place

extension FunctionChecks {
  /// Whether the function stands where nothing but its parameters tells two calls apart.
  ///
  /// - Parameter surroundings: What it stands in, the innermost first.
  func ofPlace(_ surroundings: [Syntax]) -> [Diagnostic] {
    if surroundings.contains(where: { !$0.isDeclarationOfMembers }) {
      return [self.diagnose(.localFunction, at: self.function.name)]
    }
    if let generic = surroundings.first(where: { $0.genericParameters != nil }) {
      return [self.diagnose(.genericType(generic.declaredName), at: self.function.name)]
    }
    let modifiers = self.function.modifiers.map(\.name.tokenKind)
    if modifiers.contains(.keyword(.class)), !modifiers.contains(.keyword(.final)) {
      return [self.classMethod()]
    }
    let isStatic = modifiers.contains(.keyword(.static)) || modifiers.contains(.keyword(.class))
    guard !surroundings.isEmpty, !isStatic else { return [] }
    // What a static function cannot be.
    let others: Set = [
      "open", "override", "mutating", "nonmutating", "borrowing", "consuming", "final", "dynamic",
    ]
    if self.function.modifiers.contains(where: { others.contains($0.name.text) }) {
      return [self.diagnose(.instanceMethod, at: self.function.name)]
    }
    return [
      self.diagnose(
        .instanceMethod, at: self.function.name, "make the function static",
        replacing: self.function.funcKeyword,
        by: self.function.funcKeyword.with(
          \.leadingTrivia, self.function.funcKeyword.leadingTrivia + [.unexpectedText("static ")]))
    ]
  }

  /// A subclass can override the function; a static one it cannot, and that one cannot be open.
  private func classMethod() -> Diagnostic {
    let modifiers = self.function.modifiers
    let mended = modifiers.map { modifier in
      switch modifier.name.tokenKind {
      case .keyword(.class): modifier.with(\.name.tokenKind, .keyword(.static))
      case .keyword(.open): modifier.with(\.name.tokenKind, .keyword(.public))
      default: modifier
      }
    }
    return self.diagnose(
      .classMethod, at: self.function.name, "make the function static", replacing: modifiers,
      by: DeclModifierListSyntax(mended))
  }
}

extension Syntax {
  fileprivate var isDeclarationOfMembers: Bool {
    self.asProtocol((any DeclGroupSyntax).self) != nil
  }

  fileprivate var genericParameters: GenericParameterClauseSyntax? {
    self.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause
  }

  fileprivate var declaredName: String {
    self.asProtocol((any NamedDeclSyntax).self)?.name.text ?? ""
  }
}

// MARK: - Signature

extension FunctionChecks {
  /// Whether the function is one that a request can call.
  func ofSignature() -> [Diagnostic] {
    var found = [Diagnostic]()
    if self.function.body == nil { found.append(self.diagnose(.noBody, at: self.function.name)) }
    let signature = self.function.signature
    let isOpaqueParameter = signature.parameterClause.parameters.contains(where: \.type.isOpaque)
    if let clause = self.function.genericParameterClause {
      found.append(self.diagnose(.generic, at: clause))
    } else if isOpaqueParameter {
      found.append(self.diagnose(.generic, at: signature.parameterClause))
    }
    if signature.effectSpecifiers?.asyncSpecifier == nil { found.append(self.notAsync()) }
    if let type = signature.returnClause?.type, type.isOpaque {
      found.append(self.diagnose(.opaqueResult, at: type))
    }
    let isMutation = self.kind == .mutation
    if !isMutation, signature.returnClause?.type.isVoid ?? true {
      found.append(self.withoutValue())
    }
    return found + self.ofAttributes()
  }

  private func notAsync() -> Diagnostic {
    let signature = self.function.signature
    let effects =
      signature.effectSpecifiers ?? FunctionEffectSpecifiersSyntax(leadingTrivia: [])
    let mended =
      signature
      .with(\.parameterClause.trailingTrivia, .space)
      .with(
        \.effectSpecifiers,
        effects.with(\.asyncSpecifier, .keyword(.async, trailingTrivia: .space)))
    return self.diagnose(
      .notAsync, at: self.function.name, "make the function async", replacing: signature, by: mended
    )
  }

  private func withoutValue() -> Diagnostic {
    let name = self.attribute.attributeName
    // The path of a mutation is made of no arguments.
    if case .closure = RequestPath(of: self.attribute) {
      return self.diagnose(.queryWithoutValue, at: self.function.name)
    }
    let mended: TypeSyntax = "\(raw: RequestKind.mutation.rawValue)"
    return self.diagnose(
      .queryWithoutValue, at: self.function.name, "use @\(RequestKind.mutation.rawValue)",
      replacing: name, by: mended)
  }

  /// Two macros of this module on one function: told once, at the second one.
  private func ofAttributes() -> [Diagnostic] {
    let requests = self.function.attributes.compactMap { element -> AttributeSyntax? in
      guard
        case .attribute(let attribute) = element, let name = attribute.attributeName.lastName,
        RequestKind(rawValue: name) != nil
      else { return nil }
      return attribute
    }
    // By their texts: the compiler hands the attribute over apart from the function.
    guard requests.count > 1, let last = requests.last,
      last.trimmedDescription == self.attribute.trimmedDescription
    else { return [] }
    return [
      self.diagnose(
        .twoAttributes(self.function.plainName), at: last, "remove the second one",
        replacing: self.function.attributes,
        by: self.function.attributes.filter { $0.id != last.id })
    ]
  }
}

// MARK: - Parameters

extension FunctionChecks {
  /// Whether a request can give the function what it takes.
  func ofParameters(_ parameters: [RequestParameter]) -> [Diagnostic] {
    var found = parameters.compactMap(\.advice)
    for role in [RequestParameter.Role.context, .continuation] {
      found += parameters.filter { $0.role == role }.dropFirst().map(self.repeated)
    }
    guard self.kind == .mutation else { return found }
    let arguments = parameters.filter { $0.role == .argument }
    if arguments.count > 1 {
      found.append(
        self.diagnose(
          .severalArguments(arguments.map(\.name)), at: self.function.signature.parameterClause))
    }
    return found
      + arguments.compactMap { argument in
        argument.syntax.defaultValue.map {
          self.diagnose(
            .argumentDefault(argument.name), at: $0, "remove the default",
            replacing: argument.syntax,
            by: argument.syntax.with(\.defaultValue, nil)
              .with(\.type.trailingTrivia, $0.trailingTrivia))
        }
      }
  }

  private func repeated(_ parameter: RequestParameter) -> Diagnostic {
    let list = self.function.signature.parameterClause.parameters
    var left = Array(list.filter { $0.id != parameter.syntax.id })
    if let last = left.popLast() { left.append(last.with(\.trailingComma, nil)) }
    return self.diagnose(
      .repeatedParameter(parameter.type), at: parameter.syntax, "remove '\(parameter.name)'",
      replacing: list, by: FunctionParameterListSyntax(left))
  }
}
