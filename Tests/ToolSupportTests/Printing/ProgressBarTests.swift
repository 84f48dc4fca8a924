import TestSupport
import Testing
import ToolSupport

struct ProgressBarTests {
  private let terminal = Terminal(width: 60, hasColour: false)

  @Test func theBarShowsWhatIsDoneWaitsAndIsDead() {
    let bar = ProgressBar(done: 2, waiting: 1, dead: 1, note: "sending")
    #expect(
      bar.text(self.terminal)
        == "[███████████████xxxxxxx·········] 2 done, 1 waiting, 1 dead")
    #expect(bar.line(self.terminal).hasPrefix("\r["))
    #expect(bar.line(self.terminal).hasSuffix("\u{1b}[K"))
  }

  @Test func nothingToDoIsAnEmptyBarAndAllDoneAFullOne() {
    #expect(ProgressBar().text(self.terminal).hasPrefix("[·····"))
    #expect(!ProgressBar(done: 3).text(self.terminal).contains("·"))
  }

  @Test(arguments: SeededGenerator.seeds(2))
  func itNeverFillsTheLineOfTheTerminal(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      let numbers = (0..<3).map { _ in
        Int.random(in: 0...Int.random(in: 1...1_000_000, using: &generator), using: &generator)
      }
      let width = Int.random(in: 11...200, using: &generator)
      let bar = ProgressBar(
        done: numbers[0], waiting: numbers[1], dead: numbers[2], note: "waits for the network")
      let text = bar.text(Terminal(width: width, hasColour: false))
      #expect(DisplayWidth.of(text) < width, "\(width): \(text)")
    }
  }
}
