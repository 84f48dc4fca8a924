import Foundation
import Testing
import ToolSupport

struct TerminalTests {
  // TIOCSPTLCK and TIOCGPTN.
  private static let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))

  @Test func aPipeHasNeitherWidthNorColour() throws {
    var descriptors = [Int32](repeating: -1, count: 2)
    #expect(pipe(&descriptors) == 0)
    defer { for descriptor in descriptors { close(descriptor) } }
    let terminal = Terminal(of: descriptors[1], environment: ["COLUMNS": "40"])
    #expect(terminal == .pipe)
    #expect(!terminal.isTerminal)
    #expect(terminal.styled("text", .bad) == "text")
  }

  @Test func aTerminalHasItsWidthAndColourUnlessThatIsNotWanted() throws {
    let main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(main >= 0)
    defer { close(main) }
    // What unlockpt and ptsname do, which the C library's module leaves out.
    var (lock, number) = (Int32(0), UInt32(0))
    #expect(ioctl(main, Self.setLock, &lock) == 0)
    #expect(ioctl(main, Self.getNumber, &number) == 0)
    let descriptor = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    #expect(Terminal(of: descriptor, environment: ["COLUMNS": "40"]).width == 40)
    #expect(Terminal(of: descriptor, environment: [:]).width == 80)
    var size = winsize(ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
    #expect(ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0)
    let terminal = Terminal(of: descriptor, environment: ["TERM": "xterm", "COLUMNS": "40"])
    #expect(terminal == Terminal(width: 100, hasColour: true))
    #expect(terminal.styled("text", .bad) == "\u{1b}[31mtext\u{1b}[0m")
    #expect(!Terminal(of: descriptor, environment: ["NO_COLOR": "1"]).hasColour)
    #expect(Terminal(of: descriptor, environment: ["NO_COLOR": ""]).hasColour)
    #expect(!Terminal(of: descriptor, environment: ["TERM": "dumb"]).hasColour)
  }
}
