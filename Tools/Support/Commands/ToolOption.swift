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

/// What a value on a command line is: how it is checked, and how a shell completes it.
package enum ValueKind: Hashable, Sendable {
  /// There is no value.
  case flag
  /// Any text.
  case text
  /// The path of a file.
  case file
  /// The path of a folder.
  case directory
  /// One of these words.
  case words([String])
  /// A whole number in this range.
  case integer(ClosedRange<Int>)
  /// The identifier of an application that has a store; the tool itself lists them.
  case application
  /// A name of something in the store, which the command of this path lists with `--complete`.
  case name(listedBy: String)
  /// A length of time with its unit, as `30s`, `5min`, `1h30min`.
  case duration
}

/// The options that all commands of the tools have.
package enum CommonOption {
  /// The store by its folder.
  package static let store = ToolOption(
    "store", "s", .directory, "DIR", "the folder with the store's files")
  /// The store by the application that it belongs to.
  package static let application = ToolOption(
    "application", "a", .application, "ID",
    "the application whose store is meant, as org.example.notes, instead of --store")
  /// The account.
  package static let partition = ToolOption(
    "partition", "p", .text, "NAME", "only this partition")
  /// JSON instead of text.
  package static let json = ToolOption(
    "json", nil, .flag, "", "print JSON, one object a line; times are in UTC, sizes in bytes")
  /// UTC instead of the user's time zone.
  package static let utc = ToolOption("utc", "u", .flag, "", "print times in UTC")
  /// No question before something is changed for good. Only the commands that ask have it.
  package static let yes = ToolOption("yes", "y", .flag, "", "do not ask")
  /// The help.
  package static let help = ToolOption("help", "h", .flag, "", "show this help")
  /// The release.
  package static let version = ToolOption("version", nil, .flag, "", "show the version")
  /// Used by the installer.
  package static let completion = ToolOption(
    "generate-completion", nil, .words(["bash"]), "SHELL", "print a completion script",
    isHidden: true)
  /// Used by the installer.
  package static let manual = ToolOption(
    "generate-man", nil, .flag, "", "print the manual page", isHidden: true)

  /// Used by the completion script: names of the store, or the applications that have one.
  package static let complete = ToolOption(
    "complete", nil, .words(["applications", "names"]), "KIND", "print words to complete with",
    isHidden: true)

  /// All of them, in the order in which help shows them.
  package static let all = [store, application, partition, json, utc] + always

  /// Those that a tool without a store has too.
  package static let always = [help, version, completion, manual, complete]
}
