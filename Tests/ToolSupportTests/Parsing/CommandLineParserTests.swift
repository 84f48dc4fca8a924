import Testing
import ToolSupport

struct CommandLineParserTests {
  @Test func aValueFollowsItsOptionInEveryFormOfGNU() throws {
    let lines = [
      ["list", "--limit", "7"], ["list", "--limit=7"], ["list", "-n", "7"], ["list", "-n7"],
      ["list", "-Avn7"], ["list", "-A", "-vn", "7"],
    ]
    for line in lines {
      guard case .command(let command) = try CommandLineParser.parse(line, for: SampleTool.tool)
      else {
        Issue.record("\(line) is a command")
        continue
      }
      #expect(command.path == ["list"])
      #expect(command.integer(SampleTool.limit) == 7, "\(line)")
    }
  }

  @Test func bundledFlagsAreAllSet() throws {
    let command = try SampleTool.parse("list", "-vA")
    #expect(command.has(SampleTool.all))
    #expect(command.has(SampleTool.verbose))
    #expect(!command.has(SampleTool.limit))
  }

  @Test func optionsMayFollowArguments() throws {
    let command = try SampleTool.parse("outbox", "retry", "a", "--all", "b", "--json", "c")
    #expect(command.path == ["outbox", "retry"])
    #expect(command.arguments == ["a", "b", "c"])
    #expect(command.has(SampleTool.all))
    #expect(command.has(CommonOption.json))
  }

  @Test func twoHyphensEndTheOptions() throws {
    let command = try SampleTool.parse("outbox", "retry", "--", "--all", "-x", "--")
    #expect(command.arguments == ["--all", "-x", "--"])
    #expect(!command.has(SampleTool.all))
  }

  @Test func oneHyphenIsAnArgument() throws {
    #expect(try SampleTool.parse("history", "-").arguments == ["-"])
  }

  @Test func aValueMayBeginWithAHyphenAndBeEmptyOrHoldAnEqualsSign() throws {
    #expect(
      try SampleTool.parse("list", "--partition", "--x").text(CommonOption.partition) == "--x")
    #expect(try SampleTool.parse("list", "--partition=").text(CommonOption.partition) == "")
    #expect(try SampleTool.parse("list", "--partition=a=b").text(CommonOption.partition) == "a=b")
  }

  @Test func commonOptionsMayStandBeforeTheCommand() throws {
    let command = try SampleTool.parse("--store", "/tmp", "-u", "list")
    #expect(command.path == ["list"])
    #expect(command.text(CommonOption.store) == "/tmp")
    #expect(command.has(CommonOption.utc))
  }

  @Test func aCommandMayHaveSomeOfTheCommonOptionsAlone() throws {
    #expect(try SampleTool.parse("--json", "ping").has(CommonOption.json))
    #expect(
      SampleTool.error("ping", "--store", "x")
        == UsageError("unknown option --store", path: ["ping"]))
    #expect(
      SampleTool.error("--store", "x", "ping")?.message == "--store is no option of “ping”")
  }

  @Test func aCommandMayHaveCommandsAndRunWithoutOne() throws {
    #expect(try SampleTool.parse("outbox").path == ["outbox"])
    #expect(try SampleTool.parse("outbox", "show", "x").path == ["outbox", "show"])
    #expect(try SampleTool.parse("outbox", "--all", "retry", "x").has(SampleTool.all))
    #expect(
      SampleTool.error("outbox", "--all", "show", "x")?.message == "--all is no option of “show”")
  }

  @Test func whatIsUnknownIsNamedWithTheNearest() {
    #expect(
      SampleTool.error("list", "--partion", "x")
        == UsageError("unknown option --partion", suggestion: "--partition", path: ["list"]))
    #expect(SampleTool.error("lsit")?.suggestion == "list")
    #expect(SampleTool.error("list", "--zzzzzz")?.suggestion == nil)
    #expect(SampleTool.error("list", "-V")?.suggestion == "-v")
    #expect(SampleTool.error("list", "--sort=siz")?.suggestion == "size")
    #expect(
      SampleTool.error("--limit", "3")?.message
        == "--limit is an option of “list” and stands after that")
    let line = SampleTool.error("list", "--partion")?.line(of: "sample")
    #expect(
      line == "unknown option --partion; did you mean --partition? See sample list --help")
  }

  @Test func theOtherCaseOfALetterMayBeTwoLetters() {
    #expect(SampleTool.error("list", "-ß")?.message == "unknown option -ß")
    #expect(SampleTool.error("list", "-ŉ")?.message == "unknown option -ŉ")
  }

  @Test func whatIsMissingIsNamed() {
    #expect(
      SampleTool.error()?.message == "a command is missing: list, report, outbox, ping, history")
    #expect(SampleTool.error("list", "--limit")?.message == "--limit needs a value: --limit N")
    #expect(SampleTool.error("list", "-n")?.message == "--limit needs a value: --limit N")
    #expect(SampleTool.error("report")?.message == "--output FILE is missing")
    #expect(SampleTool.error("outbox", "show")?.message == "ID is missing: which one")
    #expect(SampleTool.error("outbox", "retry")?.message == "ID is missing: which ones")
  }

  @Test func whatIsTooMuchIsNamed() {
    #expect(SampleTool.error("list", "x")?.message == "“x” is one argument too many")
    #expect(SampleTool.error("outbox", "show", "x", "y")?.message == "“y” is one argument too many")
    #expect(SampleTool.error("list", "--all=yes")?.message == "--all takes no value")
    #expect(
      SampleTool.error("list", "-n1", "--limit", "2")?.message == "--limit is given more than once")
    #expect(SampleTool.error("list", "-A", "-A") == nil)
  }

  @Test func valuesAreChecked() throws {
    #expect(
      SampleTool.error("list", "-n", "many")?.message
        == "--limit needs a whole number from 1 to 100, not “many”")
    for word in ["0", "101", "1.5", "", "99999999999999999999", " 1"] {
      #expect(SampleTool.error("list", "-n", word) != nil, "\(word)")
    }
    #expect(
      SampleTool.error("list", "--sort", "colour")?.message
        == "--sort is one of size, age, not “colour”")
    #expect(
      SampleTool.error("list", "-d", "30")?.message
        == "--deadline needs a length of time such as 30s, 5min or 1h, not “30”")
    #expect(
      SampleTool.error("list", "--store", "")?.message == "--store needs a path, which is empty")
    let command = try SampleTool.parse("list", "-d", "1h30min", "-k", "a", "-kb", "--sort", "age")
    #expect(command.duration(SampleTool.deadline) == .seconds(5_400))
    #expect(command.texts(SampleTool.kind) == ["a", "b"])
    #expect(command.text(SampleTool.sort) == "age")
  }

  @Test func helpAndVersionNeedNothingElse() throws {
    func parse(_ words: String...) throws -> ParsedLine {
      try CommandLineParser.parse(words, for: SampleTool.tool)
    }
    #expect(try parse("--help") == .help(path: []))
    #expect(try parse("report", "-h") == .help(path: ["report"]))
    #expect(try parse("--help", "outbox", "show") == .help(path: ["outbox", "show"]))
    #expect(try parse("--version") == .version)
    #expect(try parse("--version", "--help") == .help(path: []))
    #expect(try parse("--generate-completion=bash") == .completion(shell: "bash"))
    #expect(try parse("--generate-man") == .manual)
    #expect(SampleTool.error("--generate-completion", "fish") != nil)
  }
}
