import Testing
import ToolSupport

struct ManPageTests {
  private let lines = ManPage.text(of: SampleTool.tool).split(separator: "\n").map(String.init)

  @Test func thePageHasTheSectionsOfAPage() {
    let sections = self.lines.filter { $0.hasPrefix(".SH ") }.map { String($0.dropFirst(4)) }
    #expect(
      sections == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "EXAMPLES",
      ])
    #expect(self.lines.contains("sample \\- shows what a table can say"))
  }

  @Test func everyOptionAndExampleIsThere() {
    for (_, command) in SampleTool.tool.commands {
      for option in command.options {
        let name = option.name.split(separator: "-").joined(separator: "\\-")
        #expect(self.lines.contains { $0.hasPrefix(".B") && $0.contains("\\-\\-\(name)") })
      }
    }
    #expect(self.lines.contains("sample outbox retry 3f 4a"))
  }

  @Test func whatTheFormatterWouldTakeForItsOwnIsEscaped() {
    #expect(
      self.lines.contains("A second paragraph has a .dot, a \\ebackslash and a \\-dash."))
  }
}
