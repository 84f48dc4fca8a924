/// What a command takes beside its options.
package struct ToolArgument: Hashable, Sendable {
  /// Its placeholder in help, as `ID`.
  package var placeholder: String
  /// What it is.
  package var kind: ValueKind
  /// What it is for, in words that follow its placeholder.
  package var help: String
  /// Whether the command requires it.
  package var isRequired: Bool
  /// Whether there may be more than one; the last argument of a command only.
  package var isRepeated: Bool

  /// Creates an argument. See the properties for what each is.
  package init(
    _ placeholder: String,
    _ kind: ValueKind = .text,
    _ help: String,
    isRequired: Bool = true,
    isRepeated: Bool = false
  ) {
    self.placeholder = placeholder
    self.kind = kind
    self.help = help
    self.isRequired = isRequired
    self.isRepeated = isRepeated
  }

  /// As in a line of usage: `ID…`, `[NAME]`.
  var usage: String {
    let name = self.isRepeated ? "\(self.placeholder)…" : self.placeholder
    return self.isRequired ? name : "[\(name)]"
  }
}
