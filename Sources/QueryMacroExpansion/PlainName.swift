import SwiftParser
import SwiftSyntax

extension TokenSyntax {
  /// Its text, without backticks.
  var plainName: String { self.identifier?.name ?? self.text }
}

extension FunctionDeclSyntax {
  /// Its name, without backticks.
  var plainName: String { self.name.plainName }
}

/// To be compared, names have no backticks; what is written has them if it needs them.
extension String {
  /// The name as the name of a value or of a type: in backticks if it is a keyword, say.
  var quoted: String { self.needsBackticks ? "`\(self)`" : self }

  /// The name as the label of an argument, where few keywords need backticks.
  var asLabel: String {
    let isPlain = !["inout", "var", "let", "_"].contains(self) && !"_\(self)".needsBackticks
    return isPlain ? self : "`\(self)`"
  }

  /// The name with something before it, which makes a name even of a keyword.
  func prefixed(by prefix: String) -> String {
    "_\(self)".needsBackticks ? "`\(prefix)\(self)`" : "\(prefix)\(self)"
  }

  private var needsBackticks: Bool {
    // The parser takes `await` for a name, and the compiler does not.
    self != "_" && (self == "await" || !self.isValidSwiftIdentifier(for: .variableName))
  }
}
