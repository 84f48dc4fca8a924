public import SwiftDiagnostics

/// What a macro says of code that it does not expand: what is wrong, why, and the mend.
///
/// All are static values or functions, so that a test asserts the exact one.
public struct MacroAdvice: DiagnosticMessage, Hashable {
  /// What tells it from the others.
  public let name: String

  /// The text of the error.
  public let message: String

  /// The identifier under which tools know it.
  public var diagnosticID: MessageID { MessageID(domain: "QueryMacros", id: self.name) }

  /// Each is an error: what is expanded in spite of it would be another request.
  public var severity: DiagnosticSeverity { .error }

  init(_ name: String, _ message: String) {
    self.name = name
    self.message = message
  }
}

/// What a fix-it does.
public struct MacroMend: FixItMessage, Hashable {
  /// The text of the fix-it.
  public let message: String

  /// The identifier under which tools know it.
  public var fixItID: MessageID { MessageID(domain: "QueryMacros", id: self.message) }

  init(_ message: String) { self.message = message }
}

// MARK: - Requests

extension MacroAdvice {
  static func notAFunction(_ macro: RequestKind) -> Self {
    Self(
      "notAFunction",
      """
      @\(macro.rawValue) stands on a function, which \(macro.does); for a closure write \
      \(macro.block)
      """)
  }

  static func noPath(_ macro: RequestKind) -> Self {
    Self(
      "noPath",
      """
      @\(macro.rawValue) needs a path: it is the identity of the request, by which its store is found, \
      now and after the next launch
      """)
  }

  static let emptyPath = Self(
    "emptyPath",
    "the path is empty: a request with an empty path shares its store with every other such request"
  )

  static let instanceMethod = Self(
    "instanceMethod",
    """
    the function belongs to an instance, which is no part of the path, so that the requests of two \
    instances would share a store; make it static, and give it what it needs as parameters
    """)

  static let classMethod = Self(
    "classMethod",
    """
    a subclass can override the function, and the class is no part of the path, so that the requests of \
    both would share a store; make it static
    """)

  static let localFunction = Self(
    "localFunction",
    """
    the function is inside of another one, whose values it can use without their being in the path; \
    move it out
    """)

  static let noBody = Self(
    "noBody",
    "the function has no body, so there is nothing to run; put the macro on the implementation")

  static let generic = Self(
    "generic",
    """
    the function is generic, and its type parameters are no part of the path, so that requests of \
    different types would share a store; name the types, or write a generic type that is a request
    """)

  static func genericType(_ name: String) -> Self {
    Self(
      "genericType",
      """
      the function belongs to the generic type '\(name)', whose type parameters are no part of the path, \
      so that requests of different types would share a store; move it out
      """)
  }

  static let notAsync = Self(
    "notAsync", "the function is not async; a request may take its time, and can be cancelled")

  static let queryWithoutValue = Self(
    "queryWithoutValue",
    """
    the function returns nothing, and a query has a value; a request that changes something is a \
    mutation
    """)

  static let opaqueResult = Self(
    "opaqueResult",
    "the function returns a type without a name, and the request has to name its value; name the type"
  )

  static func twoAttributes(_ name: String) -> Self {
    Self(
      "twoAttributes",
      "the function has two macros that both make '$\(name)'; one request is made of a function")
  }
}

// MARK: - Parameters

extension MacroAdvice {
  static func inoutParameter(_ name: String) -> Self {
    Self(
      "inoutParameter",
      "'\(name)' is inout: a request runs later, and has nothing to write it back to; return the value"
    )
  }

  static func variadicParameter(_ name: String) -> Self {
    Self(
      "variadicParameter",
      "'\(name)' is variadic, and its values cannot be handed on; take an array")
  }

  static func closureParameter(_ name: String) -> Self {
    Self(
      "closureParameter",
      """
      '\(name)' is a function, which has no identity and cannot be stored; take it from the context, \
      by a property made with @ContextEntry
      """)
  }

  static func isolatedParameter(_ name: String) -> Self {
    Self(
      "isolatedParameter",
      """
      '\(name)' is isolated: a request runs where its fetch was started, and has no actor to hand on; \
      isolate the function by a global actor instead
      """)
  }

  static func repeatedParameter(_ type: String) -> Self {
    Self("repeatedParameter", "the function takes a second '\(type)'; a request has one to give")
  }

  static func severalArguments(_ names: [String]) -> Self {
    Self(
      "severalArguments",
      """
      the function takes \(names.map { "'\($0)'" }.joined(separator: ", ")), and a mutation has its \
      arguments as one value; put them into a struct, Codable if the mutation is to be persisted, \
      and take that
      """)
  }

  static func argumentDefault(_ name: String) -> Self {
    Self(
      "argumentDefault",
      """
      the default of '\(name)' is never used: each attempt of a mutation is given its arguments; \
      leave it out
      """)
  }
}

// MARK: - Paths

extension MacroAdvice {
  static func pathParameters(_ wanted: String) -> Self {
    Self(
      "pathParameters",
      "the closure of the path takes what tells one request from another: (\(wanted))")
  }

  static func unusedInPath(_ name: String) -> Self {
    Self(
      "unusedInPath",
      """
      '\(name)' is not in the path, so that two requests that differ in it alone would share a store; \
      put it there, or name it '_' if the value does not depend on it
      """)
  }
}

// MARK: - Context entries

extension MacroAdvice {
  static let notAVariable = Self(
    "notAVariable", "@ContextEntry stands on one variable, such as 'var pageSize = 20'")

  static let notInContext = Self(
    "notInContext",
    "@ContextEntry makes a property of the context; write it in 'extension QueryContext { … }'")

  static let constantEntry = Self(
    "constantEntry", "a property of the context is set by who makes a store, so it is a 'var'")

  static func entryModifier(_ modifier: String) -> Self {
    Self(
      "entryModifier",
      "a property of the context is a value of each context, and cannot be \(modifier)")
  }

  static let entryAccessors = Self(
    "entryAccessors",
    """
    the property has accessors already; @ContextEntry makes them, of a default: 'var pageSize = 20'
    """)

  static func noDefault(_ name: String) -> Self {
    Self(
      "noDefault",
      "'\(name)' needs a default, which a context has if nobody has set it")
  }
}
