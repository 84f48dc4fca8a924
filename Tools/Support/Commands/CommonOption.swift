/// The options that all commands of the tools have.
package enum CommonOption {
  /// The store by its folder.
  package static let store = ToolOption(
    "store", "s", .directory, "DIR", "the folder with the store's files")
  /// The store by the application that it belongs to.
  package static let application = ToolOption(
    "application", "a", .text, "ID",
    "the application whose store is meant, as org.example.notes, instead of --store")
  /// The account.
  package static let partition = ToolOption(
    "partition", "p", .text, "NAME", "only this partition")
  /// JSON instead of text.
  package static let json = ToolOption(
    "json", nil, .flag, "", "print JSON, one object a line; times are in UTC, sizes in bytes")
  /// UTC instead of the user's time zone.
  package static let utc = ToolOption("utc", "u", .flag, "", "print times in UTC")
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

  /// All of them, in the order in which help shows them.
  package static let all = [store, application, partition, json, utc] + always

  /// Those that a tool without a store has too.
  package static let always = [help, version, completion, manual]
}
