import TestSupport
import Testing
import ToolSupport

/// Random command lines: the parser understands them or says why not.
struct CommandLineParserFuzzTests {
  private static let pieces = [
    "list", "report", "outbox", "show", "retry", "history", "--", "-", "--limit", "--limit=3",
    "-n", "-n3", "--sort", "size", "--kind", "-kx", "-Av", "--all", "--all=1", "--help", "-h",
    "--version", "--store", "/tmp", "--json", "--utc", "--generate-man", "--=", "--=x", "=", "",
    "-é", "--ключ", "👩‍👩‍👧", "\u{202e}", "\0", "--limit=99999999999999999999999", "-d", "1h",
    "-nnn", "--limi", "lits", "-Z", "\u{301}", "--\u{301}", "-\u{301}",
  ]

  @Test(arguments: SeededGenerator.seeds(4))
  func noCommandLineCrashesTheParserAndEachErrorIsOneLine(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<10_000 {
      let words = Self.words(&generator)
      do {
        if case .command(let command) = try CommandLineParser.parse(words, for: SampleTool.tool) {
          #expect(command.integer(SampleTool.limit).map { (1...100).contains($0) } ?? true)
          #expect(!command.path.isEmpty)
        }
      } catch {
        let line = SafeText.escape(error.line(of: "sample"))
        #expect(line.contains("See sample"), "\(words)")
        #expect(line.unicodeScalars.allSatisfy { !SafeText.isUnsafe($0) }, "\(words)")
      }
    }
  }

  @Test(arguments: SeededGenerator.seeds(4))
  func whatIsUnderstoodIsUnderstoodAgainAfterItIsWrittenOut(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var understood = 0
    for _ in 0..<10_000 {
      let words = Self.words(&generator)
      guard
        case .command(let command)? = try? CommandLineParser.parse(words, for: SampleTool.tool)
      else { continue }
      understood += 1
      let line = Self.write(command)
      #expect(
        try CommandLineParser.parse(line, for: SampleTool.tool) == .command(command), "\(words)")
    }
    #expect(understood > 50)
  }

  private static func words(_ generator: inout SeededGenerator) -> [String] {
    // Half of them begin with a command: few of the others are understood.
    let start = Bool.random(using: &generator) ? ["list"] : []
    return start
      + (0..<Int.random(in: 0...6, using: &generator)).map { _ in
        var word = Self.pieces.randomElement(using: &generator) ?? ""
        if Int.random(in: 0..<8, using: &generator) == 0 {
          word += Self.pieces.randomElement(using: &generator) ?? ""
        }
        return word
      }
  }

  private static func write(_ command: ParsedCommand) -> [String] {
    let found = SampleTool.tool.commands.first { $0.path == command.path }
    var line = command.path
    for option in (found?.command.options ?? []) + SampleTool.tool.common {
      for value in command.texts(option) {
        line.append(option.takesValue ? "\(option.dashed)=\(value)" : option.dashed)
      }
    }
    return line + ["--"] + command.arguments
  }
}
