import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// A parameter of a function that a request is made of.
struct RequestParameter {
  /// What the parameter is given.
  enum Role {
    /// What the caller of the request gives: for a query a part of its identity.
    case argument
    /// The context of the fetch.
    case context
    /// What takes earlier values.
    case continuation
  }

  let syntax: FunctionParameterSyntax
  let role: Role

  init(_ syntax: FunctionParameterSyntax) {
    self.syntax = syntax
    self.role =
      switch syntax.type.lastName {
      case "QueryContext", "OperationContext": .context
      case "QueryContinuation", "OperationContinuation": .continuation
      default: .argument
      }
  }

  /// What the body calls it, without backticks.
  var name: String { (self.syntax.secondName ?? self.syntax.firstName).plainName }

  /// What stands before the value in a call; nil for none.
  var label: String? {
    self.syntax.firstName.tokenKind == .wildcard ? nil : self.syntax.firstName.plainName.asLabel
  }

  /// Its type, as the type of a value: without `consuming` and the like.
  var type: String { self.syntax.type.ofValue }

  /// Why a request cannot hand it on; nil if it can.
  var advice: Diagnostic? {
    let type = self.syntax.type
    if let attributed = type.as(AttributedTypeSyntax.self) {
      let specifiers = attributed.specifiers.map(\.trimmedDescription)
      if specifiers.contains("inout") {
        return self.diagnose(
          .inoutParameter(self.name), "remove 'inout'", replacing: attributed,
          by: attributed.with(\.specifiers, []).with(\.leadingTrivia, type.leadingTrivia))
      }
      if specifiers.contains("isolated") { return self.diagnose(.isolatedParameter(self.name)) }
    }
    if self.syntax.modifiers.contains(where: { $0.name.text == "isolated" }) {
      return self.diagnose(.isolatedParameter(self.name))
    }
    if let ellipsis = self.syntax.ellipsis {
      let array = self.syntax
        .with(\.type, "[\(type.trimmed)]")
        .with(\.ellipsis, nil)
        .with(\.trailingTrivia, ellipsis.trailingTrivia)
      return self.diagnose(
        .variadicParameter(self.name), "take '[\(self.type)]'", replacing: self.syntax, by: array)
    }
    if type.isFunction { return self.diagnose(.closureParameter(self.name)) }
    return nil
  }

  private func diagnose(_ advice: MacroAdvice) -> Diagnostic {
    Diagnostic(node: self.syntax, message: advice)
  }

  private func diagnose(
    _ advice: MacroAdvice,
    _ mend: String,
    replacing old: some SyntaxProtocol,
    by new: some SyntaxProtocol
  ) -> Diagnostic {
    Diagnostic(
      node: self.syntax, message: advice,
      fixIt: .replace(message: MacroMend(mend), oldNode: old, newNode: new))
  }
}

extension TypeSyntax {
  /// The last part of its name, without generic arguments; nil if it is no name.
  var lastName: String? {
    if let name = self.as(IdentifierTypeSyntax.self) { return name.name.text }
    if let member = self.as(MemberTypeSyntax.self) { return member.name.text }
    if let attributed = self.as(AttributedTypeSyntax.self) { return attributed.baseType.lastName }
    // In parentheses.
    if let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1 {
      return tuple.elements.first?.type.lastName
    }
    return nil
  }

  /// The type that a value has which is passed or returned so.
  var ofValue: String {
    if let attributed = self.as(AttributedTypeSyntax.self) {
      return attributed.with(\.specifiers, []).with(
        \.baseType, "\(raw: attributed.baseType.ofValue)"
      )
      .trimmedDescription
    }
    // `T!` is no type of its own.
    if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return "\(optional.wrappedType.trimmedDescription)?"
    }
    return self.trimmedDescription
  }

  /// Whether it is a function, or an optional one.
  var isFunction: Bool {
    if self.is(FunctionTypeSyntax.self) { return true }
    if let attributed = self.as(AttributedTypeSyntax.self) { return attributed.baseType.isFunction }
    if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType.isFunction }
    if let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1 {
      return tuple.elements.first?.type.isFunction == true
    }
    return false
  }

  /// Whether some part of it is `some P`.
  var isOpaque: Bool {
    self.tokens(viewMode: .sourceAccurate).contains { $0.tokenKind == .keyword(.some) }
  }

  /// Whether it is the type of nothing.
  var isVoid: Bool {
    if let tuple = self.as(TupleTypeSyntax.self) { return tuple.elements.isEmpty }
    return self.lastName == "Void"
  }
}
