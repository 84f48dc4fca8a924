/// An option of a command: what one types, what it takes, and what it is for.
///
/// ```swift
/// let limit = ToolOption("limit", "n", .integer(1...1_000_000), "N", "show at most N entries")
/// ```
package struct ToolOption: Hashable, Sendable {
  /// The long name, without the two hyphens.
  package var name: String
  /// The short name; nil if it has none.
  package var short: Character?
  /// What it takes.
  package var kind: ValueKind
  /// The placeholder of its value in help, as `DIR`; empty if it takes no value.
  package var placeholder: String
  /// What it is for, in words that follow its name.
  package var help: String
  /// Whether it may be given more than once.
  package var isRepeated: Bool
  /// Whether the command requires it.
  package var isRequired: Bool
  /// Whether help, completion and manual leave it out.
  package var isHidden: Bool

  /// Creates an option. See the properties for what each is.
  package init(
    _ name: String,
    _ short: Character? = nil,
    _ kind: ValueKind = .flag,
    _ placeholder: String = "",
    _ help: String,
    isRepeated: Bool = false,
    isRequired: Bool = false,
    isHidden: Bool = false
  ) {
    self.name = name
    self.short = short
    self.kind = kind
    self.placeholder = placeholder
    self.help = help
    self.isRepeated = isRepeated
    self.isRequired = isRequired
    self.isHidden = isHidden
  }

  /// Whether it takes a value.
  package var takesValue: Bool { self.kind != .flag }

  /// The long name as one types it.
  package var dashed: String { "--\(self.name)" }
}
