/// What the user requested on the command line.
enum Command {
  case help
  case list(filter: String?)
  case measure(Options)
  /// What this program starts itself for.
  case child(Child)
  case worker(Worker)
  case tool(name: String, arguments: [String])

  struct Options {
    var filter: String?
    var jsonFile: String?
    var scale = Scale.full
  }

  static let helpText = """
    Usage: cache-bench [--quick] [--filter NAME] [--json FILE]

    Measures the rows of the performance table, each beside its floor: the same work done with the
    bare primitive in this process. Figures are medians of rounds that take turns with rounds of
    the floor, after a warm-up. Ends with 1 where a goal is missed. What is measured on disk is made
    in $TMPDIR, or /tmp: 600 MB, which are removed at the end.

    The goals that are times were set on a machine on which T, the time of `await Task { x }.value`, is
    0.8 µs at most. T is measured before and after each such row. Where it is longer, a row that is
    late by no more than that has a ≈ in the place of a ✓, and is not missed.

    Each row of the storage also stands beside a lean program: what C needs for the same promise on the
    leanest tables, or the reason why there is none. It decides no goal. The ratio of a floor or a
    lean program is how many times its figure the row has. `cpu` is the processor time of all threads
    for one operation, `written` the bytes that it hands to the system, `frames` those of WALs, and
    `syncs` the calls of fsync and fdatasync; a dash is what cannot be counted. The JSON has all
    of them of each round. Tools/bench-compare says what has changed between two files.

      --quick          a fifth of the rounds, and a tenth of the entries on disk
      --filter NAME    only the rows whose name contains NAME, or one of several with commas between
      --json FILE      also write the figures to FILE
      --list           print the names of the rows and end
      --help           print this and end

    Example: swift run -c release cache-bench --filter fetch

    Where other programs keep the machine busy, tasks wander between processors, and figures with
    them: `taskset -c 1` before the command keeps them on one.
    """
}

/// The command line cannot be understood.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ message: String) { self.description = message }
}

// MARK: - Parsing

extension Command {
  private static let names = ["--quick", "--filter", "--json", "--list", "--help"]

  /// Reads the arguments that follow the program's name.
  ///
  /// - Throws: ``UsageError`` that names the argument that cannot be understood.
  init(arguments: [String]) throws {
    if arguments.first == ToolRun.argument, arguments.count > 1 {
      self = .tool(name: arguments[1], arguments: Array(arguments.dropFirst(2)))
      return
    }
    if arguments.first == Child.argument {
      self = .child(try Child(arguments: Array(arguments.dropFirst())))
      return
    }
    if arguments.first == Worker.argument {
      self = .worker(try Worker(arguments: Array(arguments.dropFirst())))
      return
    }
    var options = Options()
    var isList = false
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      var value = parts.count == 2 ? String(parts[1]) : nil
      if ["--filter", "--json"].contains(name), value == nil {
        value = rest.popFirst()
        if value == nil { throw UsageError("\(name) needs a value; see --help") }
      }
      switch (name, value) {
      case ("--quick", nil): options.scale = .quick
      case ("--filter", let value?): options.filter = value
      case ("--json", let value?): options.jsonFile = value
      case ("--list", nil): isList = true
      case ("--help", nil), ("-h", nil):
        self = .help
        return
      default: throw Self.unknown(name, hasValue: value != nil)
      }
    }
    self = isList ? .list(filter: options.filter) : .measure(options)
  }

  private static func unknown(_ name: String, hasValue: Bool) -> UsageError {
    if hasValue && self.names.contains(name) { return UsageError("\(name) takes no value") }
    guard name.hasPrefix("-") else { return UsageError("unknown argument '\(name)'; see --help") }
    let nearest = self.names.min { self.distance($0, name) < self.distance($1, name) }
    return UsageError("unknown option '\(name)'; did you mean \(nearest ?? "--help")?")
  }

  /// How many characters must be added, removed or replaced to turn one text into the other.
  private static func distance(_ lhs: String, _ rhs: String) -> Int {
    var previous = Array(0...rhs.count)
    for (row, left) in lhs.enumerated() {
      var current = [row + 1]
      for (column, right) in rhs.enumerated() {
        let replaced = previous[column] + (left == right ? 0 : 1)
        current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
      }
      previous = current
    }
    return previous[rhs.count]
  }
}
