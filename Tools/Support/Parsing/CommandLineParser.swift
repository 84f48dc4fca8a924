/// Reads a command line by the conventions of GNU: `-abc`, `-oVALUE`, `-o VALUE`, `--long`,
/// `--long=VALUE`, `--long VALUE`, options after arguments, and `--` before words that are not
/// options.
///
/// ```swift
/// let line = try CommandLineParser.parse(["list", "--limit=10"], for: tool)
/// ```
package struct CommandLineParser {
  private let tool: Tool
  private var rest: ArraySlice<String>
  private var command: ToolCommand
  private var path = [String]()
  private var values = [String: [String]]()
  private var arguments = [String]()
  private var special: ParsedLine?

  private init(_ words: [String], _ tool: Tool) {
    self.tool = tool
    self.rest = words[...]
    self.command = tool.root
  }

  /// Reads a command line.
  ///
  /// - Parameters:
  ///   - words: What follows the name of the program.
  ///   - tool: The tool whose commands and options are parsed.
  /// - Throws: ``UsageError``.
  package static func parse(
    _ words: [String], for tool: Tool
  ) throws(UsageError) -> ParsedLine {
    var parser = Self(words, tool)
    return try parser.parse()
  }

  private mutating func parse() throws(UsageError) -> ParsedLine {
    while let word = self.rest.popFirst() {
      if word == "--" {
        while let word = self.rest.popFirst() { try self.add(argument: word) }
      } else if word.utf8.starts(with: "--".utf8) {
        try self.read(long: word.unicodeScalars.dropFirst(2))
      } else if word.utf8.starts(with: "-".utf8), word.utf8.count > 1 {
        try self.read(bundle: Substring(word.unicodeScalars.dropFirst()))
      } else {
        try self.add(argument: word)
      }
    }
    if let special = self.special {
      if case .help = special { return .help(path: self.path) }
      return special
    }
    try self.checkWhole()
    return .command(
      ParsedCommand(path: self.path, arguments: self.arguments, values: self.values))
  }

  private func failure(_ message: String, _ suggestion: String? = nil) -> UsageError {
    UsageError(message, suggestion: suggestion, path: self.path)
  }
}

// MARK: - Options

extension CommandLineParser {
  private var options: [ToolOption] { self.tool.options(of: self.command) }

  /// Of scalars, since a mark that combines with a hyphen or an equals sign does not make it
  /// another.
  private mutating func read(
    long word: Substring.UnicodeScalarView
  ) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = self.options.first(where: { $0.name == name }) else {
      throw self.unknown(option: name)
    }
    if option.takesValue {
      try self.set(option, to: parts.count > 1 ? String(parts[1]) : self.takeValue(of: option))
    } else if parts.count > 1 {
      throw self.failure("\(option.dashed) takes no value")
    } else {
      try self.set(option, to: "")
    }
  }

  private func unknown(option name: String) -> UsageError {
    for (path, command) in self.tool.commands
    where command.options.contains(where: { $0.name == name }) {
      if path != self.path {
        let words = path.joined(separator: " ")
        return self.failure("--\(name) is an option of “\(words)” and stands after that")
      }
    }
    let names = self.options.filter { !$0.isHidden }.map(\.name)
    let nearest = Suggestion.nearest(to: name, of: names)
    return self.failure("unknown option --\(name)", nearest.map { "--\($0)" })
  }

  private mutating func read(bundle: Substring) throws(UsageError) {
    var letters = bundle
    while let letter = letters.popFirst() {
      guard let option = self.options.first(where: { $0.short == letter }) else {
        // A text: the other case of a letter may have two letters.
        let other = letter.isLowercase ? letter.uppercased() : letter.lowercased()
        let isThere = self.options.contains { $0.short.map { String($0) } == other }
        throw self.failure("unknown option -\(letter)", isThere ? "-\(other)" : nil)
      }
      guard option.takesValue else {
        try self.set(option, to: "")
        continue
      }
      let value = letters.isEmpty ? try self.takeValue(of: option) : String(letters)
      try self.set(option, to: value)
      return
    }
  }

  private mutating func takeValue(of option: ToolOption) throws(UsageError) -> String {
    if let value = self.rest.popFirst() { return value }
    throw self.failure("\(option.dashed) needs a value: \(option.dashed) \(option.placeholder)")
  }

  private mutating func set(_ option: ToolOption, to value: String) throws(UsageError) {
    try self.check(value, option.kind, of: option.dashed)
    switch option {
    case CommonOption.help: self.special = .help(path: [])
    case CommonOption.version: self.special = self.special ?? .version
    case CommonOption.completion: self.special = self.special ?? .completion(shell: value)
    case CommonOption.manual: self.special = self.special ?? .manual
    default: break
    }
    if option.takesValue, !option.isRepeated, self.values[option.name] != nil {
      throw self.failure("\(option.dashed) is given more than once")
    }
    self.values[option.name, default: []].append(value)
  }
}

// MARK: - Values

extension CommandLineParser {
  private func check(
    _ value: String, _ kind: ValueKind, of name: String
  ) throws(UsageError) {
    switch kind {
    case .flag, .text, .application, .name: break
    case .file, .directory:
      if value.isEmpty { throw self.failure("\(name) needs a path, which is empty") }
    case .words(let words):
      if words.contains(value) { return }
      throw self.failure(
        "\(name) is one of \(words.joined(separator: ", ")), not “\(value)”",
        Suggestion.nearest(to: value, of: words))
    case .integer(let range):
      if let number = Int(value), range.contains(number) { return }
      throw self.failure("\(name) needs a whole number\(Self.words(range)), not “\(value)”")
    case .duration:
      if DurationText.parse(value) != nil { return }
      throw self.failure(
        "\(name) needs a length of time \(DurationText.example), not “\(value)”")
    }
  }

  private static func words(_ range: ClosedRange<Int>) -> String {
    if range.upperBound == .max {
      return range.lowerBound == .min ? "" : " of at least \(range.lowerBound)"
    }
    return " from \(range.lowerBound) to \(range.upperBound)"
  }
}

// MARK: - Commands and arguments

extension CommandLineParser {
  private mutating func add(argument word: String) throws(UsageError) {
    if self.arguments.isEmpty, !self.command.subcommands.isEmpty {
      if let next = self.command.subcommand(word) { return try self.enter(next) }
      guard self.command.isRunnable, !self.command.arguments.isEmpty else {
        let names = self.command.subcommands.map(\.name)
        throw self.failure("unknown command “\(word)”", Suggestion.nearest(to: word, of: names))
      }
    }
    let wanted = self.command.arguments
    let index = self.arguments.count
    guard let argument = index < wanted.count ? wanted[index] : wanted.last,
      index < wanted.count || argument.isRepeated
    else { throw self.failure("“\(word)” is one argument too many") }
    try self.check(word, argument.kind, of: argument.placeholder)
    self.arguments.append(word)
  }

  private mutating func enter(_ next: ToolCommand) throws(UsageError) {
    for option in self.command.options where self.values[option.name] != nil {
      guard next.options.contains(option) else {
        throw self.failure("\(option.dashed) is no option of “\(next.name)”")
      }
    }
    for option in self.tool.common where self.values[option.name] != nil {
      guard self.tool.common(of: next).contains(option) else {
        throw self.failure("\(option.dashed) is no option of “\(next.name)”")
      }
    }
    self.command = next
    self.path.append(next.name)
  }

  private func checkWhole() throws(UsageError) {
    if !self.command.isRunnable {
      let names = self.command.subcommands.map(\.name).joined(separator: ", ")
      throw self.failure("a command is missing: \(names)")
    }
    for option in self.options where option.isRequired && self.values[option.name] == nil {
      throw self.failure("\(option.dashed) \(option.placeholder) is missing")
    }
    let missing = self.command.arguments.dropFirst(self.arguments.count).first { $0.isRequired }
    if let missing { throw self.failure("\(missing.placeholder) is missing: \(missing.help)") }
  }
}
