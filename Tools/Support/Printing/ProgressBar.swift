/// A bar of a terminal: how much is done, waits, and is dead.
package struct ProgressBar: Hashable, Sendable {
  /// How many are done.
  package var done: Int
  /// How many wait or run.
  package var waiting: Int
  /// How many are dead.
  package var dead: Int
  /// What is going on, in a few words.
  package var note: String

  /// Creates a bar.
  package init(done: Int = 0, waiting: Int = 0, dead: Int = 0, note: String = "") {
    self.done = done
    self.waiting = waiting
    self.dead = dead
    self.note = note
  }

  private static let maximumLength = 40

  /// One line that replaces the one before it: begins with a carriage return, and clears what is
  /// left of the old one.
  package func line(_ terminal: Terminal) -> String { "\r\(self.text(terminal))\u{1b}[K" }

  /// The bar, never as wide as the terminal, which would begin a new line.
  package func text(_ terminal: Terminal) -> String {
    let width = max(10, (terminal.width ?? 80) - 1)
    let note = self.note.isEmpty ? "" : "  \(SafeText.escape(self.note))"
    let words = " \(self.done) done, \(self.waiting) waiting, \(self.dead) dead"
    let length = min(Self.maximumLength, width - words.count - 2)
    guard length >= 5 else { return DisplayWidth.truncate(words + note, to: width) }
    let rest = max(0, width - length - 2 - words.count)
    let end = rest > 0 ? DisplayWidth.truncate(words + note, to: words.count + rest) : words
    return "[\(self.bar(length, terminal))]\(end)"
  }

  private func bar(_ length: Int, _ terminal: Terminal) -> String {
    let total = self.done + self.waiting + self.dead
    guard total > 0 else { return String(repeating: "·", count: length) }
    let done = Self.share(self.done, of: total, length)
    let dead = min(length - done, Self.share(self.dead, of: total, length))
    let waiting = length - done - dead
    return terminal.styled(String(repeating: "█", count: done), .good)
      + terminal.styled(String(repeating: "x", count: dead), .bad)
      + String(repeating: "·", count: self.waiting > 0 ? waiting : 0)
      + terminal.styled(String(repeating: "█", count: self.waiting > 0 ? 0 : waiting), .good)
  }

  /// A part that is not zero is visible, and a part that is missing too.
  private static func share(_ part: Int, of total: Int, _ length: Int) -> Int {
    guard part > 0 else { return 0 }
    let exact = Int((Double(part) / Double(total) * Double(length)).rounded(.down))
    return part == total ? length : min(max(1, exact), length - 1)
  }
}
