import Testing
import ToolSupport

struct TableTests {
  private func table() -> Table {
    var table = Table([
      .init("ID"), .init("SIZE", .right), .init("IDENTITY", isFlexible: true), .init("STATE"),
    ])
    table.add([.init("3f2a"), .init("17 B"), .init("notes/漢字"), .init("fresh", .good)])
    table.add([
      .init("4b"), .init("3.2 KiB"), .init("a long identity with \u{1b}[31m in it"), .init(""),
    ])
    return table
  }

  @Test func aPipeGetsWholeCellsInColumnsWithoutColourOrTabs() {
    #expect(
      self.table().lines(.pipe) == [
        "ID       SIZE  IDENTITY                             STATE",
        "3f2a     17 B  notes/漢字                           fresh",
        "4b    3.2 KiB  a long identity with \\x1b[31m in it",
      ])
  }

  @Test(arguments: [20, 30, 40, 50, 60, 200])
  func aTerminalGetsLinesThatFit(_ width: Int) {
    let lines = self.table().lines(Terminal(width: width, hasColour: false))
    let widths = lines.map { DisplayWidth.of($0) }
    #expect(widths.allSatisfy { $0 <= max(width, 30) }, "no column but the flexible one is cut")
    #expect(lines[2].contains("…") == (width < 60))
  }

  @Test func colourIsAroundTheTextAndDoesNotCountAsWidth() {
    let lines = self.table().lines(Terminal(width: 200, hasColour: true))
    #expect(lines[1].hasSuffix("\u{1b}[32mfresh\u{1b}[0m"))
    #expect(lines[1].hasPrefix("3f2a     17 B"))
  }

  @Test func anEmptyTableHasItsHeadings() {
    #expect(Table([.init("A"), .init("B", .right)]).lines(.pipe) == ["A  B"])
  }
}
