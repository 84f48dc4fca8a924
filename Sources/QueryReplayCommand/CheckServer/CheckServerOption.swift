import ToolSupport

/// The options of `check-server`.
enum CheckServerOption {
  static let method = ToolOption(
    "method", "m", .words(["POST", "PUT", "PATCH", "DELETE"]), "METHOD",
    "how the write is sent; by default POST")
  static let body = ToolOption(
    "body", "b", .file, "FILE",
    "the body of the write; a %n in it is another number in each new write")
  static let example = ToolOption(
    "example", nil, .flag, "", "write a note, as the server of field-notes takes it")
  static let header = ToolOption(
    "header", "H", .text, "HEADER", "a header of every request, as “Authorization: Bearer …”",
    isRepeated: true)
  static let otherHeader = ToolOption(
    "other-header", nil, .text, "HEADER",
    "the credential of another account, in place of the header of its name", isRepeated: true)
  static let countURL = ToolOption(
    "count-url", nil, .text, "URL", "what has the number of writes that were carried out")
  static let countPath = ToolOption(
    "count-path", nil, .text, "POINTER",
    "where that number is in its JSON, as /total, or an array of them, as /notes")
  static let readURL = ToolOption(
    "read-url", nil, .text, "URL",
    "what has to have a write at once; {id} in it is the identifier that the server answers")
  static let kill = ToolOption(
    "kill-command", nil, .text, "COMMAND", "kills the server, without giving it time")
  static let start = ToolOption(
    "start-command", nil, .text, "COMMAND", "starts it again")
  static let keys = ToolOption(
    "keys", "k", .file, "FILE", "remember a key of this run there, for --older-than of a later one")
  static let olderThan = ToolOption(
    "older-than", nil, .duration, "TIME", "ask for a key of --keys that is older, as 7d")
  static let only = ToolOption(
    "only", nil, .words(CheckRule.allCases.map(\.rawValue)), "RULE", "ask for this rule alone",
    isRepeated: true)
  static let really = ToolOption(
    "really", nil, .flag, "", "the server is not on this machine, and it is a test's all the same")

  static let all = [
    method, body, example, header, otherHeader, countURL, countPath, readURL, kill, start, keys,
    olderThan, only, really, CommonOption.yes,
  ]
}

extension ReplayTool {
  /// The command that checks a server.
  static func checkServerCommand(_ words: String) -> ToolCommand {
    let rules = CheckRule.allCases.map { "\($0.rawValue): \($0.purpose)." }
    return ToolCommand(
      "check-server", "asks a server whether it carries out once what is sent to it again",
      discussion: """
        It sends real writes, at most 40, so give it a route of a test. It asks before it does.
        \(rules.joined(separator: "\n"))
        With --count-url it can tell how often a write was carried out; without it, it goes by the \
        identifiers in the answers, and cannot ask for everything.
        """,
      options: CheckServerOption.all,
      common: [CommonOption.json] + CommonOption.always,
      arguments: [ToolArgument("URL", .text, "where the write is sent")],
      examples: [
        "\(words) http://127.0.0.1:8080/notes --example "
          + "--count-url http://127.0.0.1:8080/folders/Checks/notes --count-path /notes",
        "\(words) http://127.0.0.1:8080/notes --body note.json --only repeats --yes",
      ])
  }
}
