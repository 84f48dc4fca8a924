import ToolSupport

/// The commands of the tool: what parsing, help, completion and manual go by.
enum CommandTable {
  static let tool = Tool(
    ToolCommand(
      "cache-inspect", "look into a store of offline queries",
      discussion: """
        It takes no lock of a writer and works while applications write, on a copy, and on what is \
        left of a program that was killed. Entries are named by the beginning of their hash or by \
        their whole identity, mutations by the beginning of their identifier or by their number.
        Only remove, evict, vacuum, quarantine drop and import write. None of them touches the \
        outbox, but import --outbox, which fills an empty one.
        """,
      subcommands: reading + writing,
      examples: [
        "cache-inspect list --application org.example.notes --sort size --limit 10",
        "cache-inspect stats --store ~/.cache/org.example.notes",
      ]),
    common: [
      CommonOption.store, CommonOption.application, Options.partition, CommonOption.json,
      CommonOption.utc,
    ] + CommonOption.always)

  private static let entry = ToolArgument(
    "ENTRY", .name(listedBy: "list"), "the beginning of a hash, or a whole identity")
  private static let mutation = ToolArgument(
    "ID", .name(listedBy: "outbox"), "the identifier, the beginning of it, or the number")

  private static let reading = entries + mutations + whole

  private static let entries = [
    ToolCommand(
      "list", "list entries: hash, kind, size, age, freshness, updates, identity",
      options: [
        Options.kind, Options.matching, Options.invalidated, Options.failed, Options.sort,
        Options.limit,
      ],
      examples: ["cache-inspect list -s DIR --matching '[\"notes\"]' --sort age"]),
    ToolCommand(
      "show", "show an entry with all that is known of it, and its value",
      options: [Options.value, Options.withPending], arguments: [entry],
      examples: [
        "cache-inspect show -s DIR 29850069ecc0",
        "cache-inspect show -s DIR '[\"notes\"]' --with-pending",
      ]),
    ToolCommand(
      "pages", "list the pages of an infinite query",
      options: [Options.page, Options.value], arguments: [entry],
      examples: ["cache-inspect pages -s DIR 29850069ecc0 --page '#0'"]),
  ]

  private static let mutations = [
    ToolCommand(
      "history", "list mutations that ended, the newest first",
      options: [Options.limit],
      arguments: [
        ToolArgument("NAME", .text, "the name that they were persisted as", isRequired: false)
      ],
      examples: ["cache-inspect history -s DIR create-note --limit 20"]),
    ToolCommand(
      "outbox", "list mutations that wait, run or are dead",
      subcommands: [
        ToolCommand(
          "show", "show a mutation with its arguments and attempts", options: [Options.value],
          arguments: [mutation], examples: ["cache-inspect outbox show -s DIR 12"]),
        ToolCommand(
          "why", "say what keeps a mutation from being sent", arguments: [mutation],
          examples: ["cache-inspect outbox why -s DIR 12"]),
      ],
      isRunnable: true, examples: ["cache-inspect outbox -s DIR"]),
  ]

  private static let whole = [
    ToolCommand(
      "stats", "count entries and mutations, and what they take",
      examples: ["cache-inspect stats -a org.example.notes"]),
    ToolCommand(
      "check",
      "look for damage: structure, checksums, orphans, marks, leases; exits with 65 if there is any",
      examples: ["cache-inspect check -s DIR"]),
    ToolCommand(
      "watch", "show changes as they happen, until interrupted", options: [Options.count],
      examples: ["cache-inspect watch -s DIR --json"]),
    ToolCommand(
      "metrics", "print numbers for a monitoring system, in the text format of Prometheus",
      discussion: """
        They are read from the files, so it works while the application does not run. Names of \
        mutations are labels; arguments, identities, paths and accounts never appear.
        With --out the text is written to a file beside FILE, which everybody may read, and renamed: \
        what reads FILE meets a whole text.
        """,
      options: [Options.metricsFile],
      examples: [
        "cache-inspect metrics -a org.example.notes --out /run/metrics/org.example.notes.prom"
      ]),
    ToolCommand(
      "export", "write a partition as lines of JSON, values and history",
      options: [Options.outbox, Options.output],
      examples: ["cache-inspect export -s DIR -p account -o account.jsonl"]),
    ToolCommand(
      "report", "write a page of HTML to look at", options: [Options.requiredOutput],
      examples: ["cache-inspect report -s DIR -o report.html"]),
  ]

  private static let writing = [
    ToolCommand(
      "import", "read an export into a partition",
      discussion: """
        All of it is checked before anything is written. Entries take the place of those with the \
        same identity. With --outbox the mutations that the other store has not sent are sent by \
        this one: the store that they came from must not send them too.
        """,
      options: [Options.outbox, Options.yes],
      arguments: [ToolArgument("FILE", .file, "the export, or - for the standard input")],
      examples: ["cache-inspect import -s DIR account.jsonl --yes"]),
    ToolCommand(
      "remove", "remove an entry", options: [Options.yes], arguments: [entry],
      examples: ["cache-inspect remove -s DIR 29850069ecc0"]),
    ToolCommand(
      "evict", "remove entries, used longest ago first, or older than a time",
      options: [Options.toBytes, Options.toEntries, Options.olderThan, Options.yes],
      examples: ["cache-inspect evict -s DIR --older-than 30d --yes"]),
    ToolCommand(
      "vacuum", "give free room of the file of values back", options: [Options.yes],
      examples: ["cache-inspect vacuum -s DIR --yes"]),
    ToolCommand(
      "quarantine", "look at values that could not be read",
      subcommands: [
        ToolCommand(
          "list", "list them, the newest first", examples: ["cache-inspect quarantine list -s DIR"]),
        ToolCommand(
          "show", "show one of them with its bytes", options: [Options.value],
          arguments: [ToolArgument("NUMBER", .integer(0...Int.max), "its number in the list")],
          examples: ["cache-inspect quarantine show -s DIR 3"]),
        ToolCommand(
          "drop", "delete one of them, or all", options: [Options.all, Options.yes],
          arguments: [
            ToolArgument(
              "NUMBER", .integer(0...Int.max), "its number in the list", isRequired: false)
          ],
          examples: ["cache-inspect quarantine drop -s DIR --all --yes"]),
      ], examples: ["cache-inspect quarantine list -s DIR"]),
  ]
}
