import Foundation
import Testing
import ToolSupport

struct HelpTextTests {
  @Test func theHelpOfACommandIsAsFollows() throws {
    let text = try #require(HelpText.text(of: ["outbox", "retry"], in: SampleTool.tool))
    #expect(
      text == """
        Usage: sample outbox retry [OPTION…] ID…

        Some rows.

        Arguments:
          ID…  which ones

        Options:
          -A, --all  show all

        Options of every command:
          -s, --store DIR       the folder with the store's files
          -a, --application ID  the application whose store is meant, as
                                org.example.notes, instead of --store
          -p, --partition NAME  only this partition
              --json            print JSON, one object a line; times are in UTC, sizes
                                in bytes
          -u, --utc             print times in UTC
          -h, --help            show this help
              --version         show the version

        Example:
          sample outbox retry 3f 4a
        """)
  }

  @Test func everyCommandHasAHelpWithItsOptionsAndAnExampleInEightyColumns() throws {
    for (path, command) in SampleTool.tool.commands {
      let text = try #require(HelpText.text(of: path, in: SampleTool.tool))
      for option in command.options { #expect(text.contains(option.dashed)) }
      for example in command.examples { #expect(text.contains(example)) }
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
      #expect(!text.contains("generate"))
    }
  }

  @Test func aCommandWithoutAStoreHasNoOptionsOfOne() throws {
    let text = try #require(HelpText.text(of: ["ping"], in: SampleTool.tool))
    #expect(text.contains("--json") && text.contains("--help"))
    #expect(!text.contains("--store") && !text.contains("--version"))
    let page = ManPage.text(of: SampleTool.tool).replacingOccurrences(of: "\\-", with: "-")
    #expect(page.contains("Of the options of every command it has only --json, --help."))
  }

  @Test func thereIsNoneOfACommandThatIsNot() {
    #expect(HelpText.text(of: ["nothing"], in: SampleTool.tool) == nil)
  }
}
