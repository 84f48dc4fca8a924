import ToolSupport

/// The options of `run`.
enum RunOption {
  static let once = ToolOption("once", nil, .flag, "", "send what is due now, and end")
  static let watch = ToolOption(
    "watch", nil, .flag, "", "send whatever becomes due, until Ctrl-C or SIGTERM")
  static let deadline = ToolOption(
    "deadline", "d", .duration, "TIME",
    "after this time give back what runs, and end; such as 30s or 5min")
  static let lane = ToolOption("lane", "l", .text, "LANE", "only mutations of this lane")
  static let maximum = ToolOption(
    "max", "m", .integer(1...Int.max), "N", "make at most N attempts, and end")
  static let dryRun = ToolOption(
    "dry-run", "n", .flag, "", "print the order in which it would send, and send nothing")
  static let evenOffline = ToolOption(
    "even-offline", nil, .flag, "",
    "send although the system says that there is no network, to a server of the same site")
  static let credentials = ToolOption(
    "credentials", "c", .file, "FILE", "the file with the credentials that requests refer to")
}

/// The options of `pause` and `resume`.
enum PauseOption {
  static let lane = ToolOption("lane", "l", .text, "LANE", "only the mutations of this lane")
  static let name = ToolOption(
    "name", nil, .text, "NAME", "only the mutations of this name, such as http/1")
  static let host = ToolOption(
    "host", nil, .text, "HOST", "only the mutations to this host, as “status” shows it")
  static let all = [Self.lane, Self.name, Self.host]
}

extension ReplayTool {
  /// Whether a retry is a new mutation to the server.
  static let newKey = ToolOption(
    "new-key", nil, .flag, "",
    "give each a new idempotency key, so that the server takes it for another mutation")

  /// The commands of a tool.
  static func table(
    named name: String, _ applicationID: String?, hasCredentials: Bool
  ) -> Tool {
    let store = applicationID == nil ? " --application org.example.notes" : ""
    let commands = [
      Self.runCommand("\(name) run", store, hasCredentials: hasCredentials),
      ToolCommand(
        "status", "shows what waits, for what, and what is dead",
        examples: ["\(name) status\(store)"]),
      ToolCommand(
        "list", "lists the mutations that wait or run, with their identifiers",
        options: [RunOption.lane], examples: ["\(name) list\(store)"]),
      ToolCommand(
        "why", "says what a mutation waits for, or why it is dead", arguments: [Self.oneID],
        examples: ["\(name) why\(store) 3f2a"]),
      Self.changeCommand(
        "retry", "makes dead mutations live again, and waiting ones due at once",
        options: [Self.newKey], "\(name) retry\(store) 3f2a"),
      Self.changeCommand(
        "discard", "ends dead mutations for good; those that depend on them are dead then",
        options: [CommonOption.yes], "\(name) discard\(store) 3f2a"),
      Self.changeCommand(
        "cancel", "ends pending mutations, and asks the process that runs one to end it",
        "\(name) cancel\(store) 3f2a 4b07"),
      ToolCommand(
        "pause", "lets no program send anything of the partition, until it is resumed",
        discussion: "With an option only what is of that lane, name or host. What runs goes on.",
        options: PauseOption.all,
        examples: ["\(name) pause\(store)", "\(name) pause\(store) --host api.example.org"]),
      ToolCommand(
        "resume", "ends a pause; with an option that of a lane, a name or a host",
        options: PauseOption.all, examples: ["\(name) resume\(store)"]),
      ToolCommand(
        "dead", "lists the dead mutations, and why they are dead",
        examples: ["\(name) dead\(store)"]),
      Self.checkServerCommand("\(name) check-server"),
    ]
    return Tool(
      ToolCommand(
        name, "sends the mutations that an application could not send",
        discussion: Self.discussion(applicationID, hasCredentials: hasCredentials),
        subcommands: commands, examples: ["\(name) run --once\(store)"]),
      common: Self.common(applicationID), exitCodes: Self.exitCodes)
  }

  private static func runCommand(
    _ words: String, _ store: String, hasCredentials: Bool
  ) -> ToolCommand {
    let options = [
      RunOption.once, RunOption.watch, RunOption.deadline, RunOption.lane, RunOption.maximum,
      RunOption.evenOffline, RunOption.dryRun,
    ]
    return ToolCommand(
      "run", "sends what is due",
      discussion: """
        Any number of programs may do so at the same time: none sends what another one sends. Ctrl-C \
        gives back what was not sent yet.
        With --dry-run, mutations are listed as if each before them succeeded; those that wait for \
        an alias of another one are not.
        """,
      options: hasCredentials ? options + [RunOption.credentials] : options,
      examples: ["\(words) --once\(store)", "\(words) --watch\(store) --lane inbox"])
  }

  private static let oneID = ToolArgument(
    "ID", .name(listedBy: "list"), "a mutation's identifier, or its beginning")

  private static func changeCommand(
    _ name: String, _ summary: String, options: [ToolOption] = [], _ example: String
  ) -> ToolCommand {
    ToolCommand(
      name, summary, options: options,
      arguments: [
        ToolArgument(
          "ID", .name(listedBy: "list"), "a mutation's identifier, or its beginning",
          isRepeated: true)
      ],
      examples: [example])
  }

  private static func common(_ applicationID: String?) -> [ToolOption] {
    var partition = CommonOption.partition
    partition.help = "the account, by default the one without a name"
    var application = CommonOption.application
    if let applicationID { application.help += "; by default \(applicationID)" }
    return [CommonOption.store, application, partition, CommonOption.json, CommonOption.utc]
      + CommonOption.always
  }

  private static func discussion(_ applicationID: String?, hasCredentials: Bool) -> String {
    guard hasCredentials else { return "" }
    return """
      It sends requests of HTTPMutation, whose name is http/1, and leaves all others to the \
      application that they belong to.
      Credentials are in a JSON file: by default in mutation-replay/ID.json below $XDG_CONFIG_HOME, \
      or ~/.config, for --application ID. It is an object of names, as the requests refer to them, \
      each with "origins", the URLs that it may be sent to, and "headers", as \
      {"api": {"origins": ["https://api.example.org"], "headers": {"Authorization": "Bearer …"}}}. \
      It must belong to the user and be readable by nobody else. It is read once, at the start.
      """
  }

  private static let exitCodes = [
    ExitCodeMeaning(.success, "all is sent, or the watch was ended, or the reader has gone"),
    ExitCodeMeaning(.failed, "check-server has found that something needed does not hold"),
    ExitCodeMeaning(.usage, "the command line cannot be understood, or no mutation fits it"),
    ExitCodeMeaning(.badData, "the store or the file with credentials has bad data"),
    ExitCodeMeaning(.noStore, "there is no such store"),
    ExitCodeMeaning(.unavailable, "the network is down, or no mutation is of a kind it can send"),
    ExitCodeMeaning(.inputOutput, "reading or writing failed, or is not permitted"),
    ExitCodeMeaning(
      .workRemains,
      "work remains that this program could send later, or check-server reaches nobody"),
    ExitCodeMeaning(.died, "run --once has declared a mutation dead: see “dead” and “why”"),
    ExitCodeMeaning(.interrupted, "run --once was interrupted before it was done"),
  ]
}
