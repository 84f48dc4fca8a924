import QueryMacroExpansion
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

/// A source, as the macros expand it.
struct Expansion {
  /// The expanded source.
  let text: String

  /// The errors, and for each what its fix-it makes of the source; nil if it has none.
  let errors: [(message: MacroAdvice?, mended: String?)]

  init(_ source: String) {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "Example", fullFilePath: "Example.swift")])
    let macros = Dictionary(
      uniqueKeysWithValues: MacroTable.macros.map { (String($0.dropLast("Macro".count)), $1) })
    let expanded = file.expand(
      macros: macros,
      contextGenerator: { node in
        BasicMacroExpansionContext(
          sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
      },
      indentationWidth: .spaces(2))
    self.text = expanded.description
    self.errors = context.diagnostics.map { diagnostic in
      let edits = diagnostic.fixIts.first?.changes.map { change -> (Range<Int>, String) in
        switch change {
        case .replace(let old, let new):
          // Sources with a fix-it are one line long.
          let location = context.location(
            of: old, at: .beforeLeadingTrivia, filePathMode: .fileID)
          let start = location.flatMap { Int($0.column.description) }.map { $0 - 1 } ?? 0
          return (start..<start + old.totalLength.utf8Length, "\(new)")
        default: return (0..<0, "unexpected change")
        }
      }
      return (
        diagnostic.diagMessage as? MacroAdvice,
        edits.map { edits in
          var bytes = Array(source.utf8)
          for (range, text) in edits { bytes.replaceSubrange(range, with: Array(text.utf8)) }
          return String(decoding: bytes, as: UTF8.self)
        }
      )
    }
  }

  /// The expanded source with a space wherever it has spaces or line breaks.
  var words: String { self.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

  /// The names of the errors.
  var names: [String?] { self.errors.map(\.message?.name) }

  /// What the fix-it of the only error makes of the source.
  var mended: String? { self.errors.count == 1 ? self.errors[0].mended : nil }
}
