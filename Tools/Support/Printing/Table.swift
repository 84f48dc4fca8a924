/// Rows under headings: fitted to the terminal, whole and plain elsewhere.
///
/// ```swift
/// var table = Table([Column("ID"), Column("SIZE", .right), Column("IDENTITY", isFlexible: true)])
/// table.add([.init(hash), .init(size), .init(identity)])
/// try table.print(to: output, terminal)
/// ```
/// Its cells are escaped. It keeps its rows, since the widths depend on all of them.
package struct Table {
  /// A column.
  package struct Column: Hashable, Sendable {
    /// The heading.
    package var title: String
    /// The alignment of its cells.
    package var alignment: Alignment
    /// Whether its cells are truncated if the terminal is too narrow.
    package var isFlexible: Bool
    /// Whether it is left out of a terminal that is still too narrow.
    package var isOptional: Bool

    /// Creates a column.
    package init(
      _ title: String, _ alignment: Alignment = .left, isFlexible: Bool = false,
      isOptional: Bool = false
    ) {
      self.title = title
      self.alignment = alignment
      self.isFlexible = isFlexible
      self.isOptional = isOptional
    }
  }

  /// The alignment of a column's cells.
  package enum Alignment: Hashable, Sendable {
    /// Words.
    case left
    /// Numbers.
    case right
  }

  /// A cell.
  package struct Cell: Hashable, Sendable {
    /// The text, which may be anything.
    package var text: String
    /// How it looks.
    package var style: TextStyle

    /// Creates a cell.
    package init(_ text: String, _ style: TextStyle = .plain) {
      self.text = text
      self.style = style
    }
  }

  private static let gap = 2
  private static let minimumFlexibleWidth = 8

  private let columns: [Column]
  private var rows = [[Cell]]()

  /// Creates an empty table.
  package init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row.
  ///
  /// - Parameter cells: One for each column; those that are missing are empty.
  package mutating func add(_ cells: [Cell]) {
    precondition(cells.count <= self.columns.count, "a row has more cells than there are columns")
    self.rows.append(cells.map { Cell(SafeText.escape($0.text), $0.style) })
  }

  /// Prints the headings and all rows.
  ///
  /// - Throws: As ``Output/line(_:)``.
  package func print(to output: Output, _ terminal: Terminal) throws {
    for line in self.lines(terminal) { try output.line(line) }
  }

  /// The printed lines. No line ends with blanks.
  package func lines(_ terminal: Terminal) -> [String] {
    let widths = self.widths(terminal.width)
    let titles = self.columns.map { Cell($0.title, .strong) }
    return ([titles] + self.rows).map { self.line($0, widths, terminal) }
  }
}

// MARK: - Fitting

extension Table {
  private func widths(_ available: Int?) -> [Int] {
    var widths = self.columns.map { DisplayWidth.of($0.title) }
    for row in self.rows {
      for (index, cell) in row.enumerated() {
        widths[index] = max(widths[index], DisplayWidth.of(cell.text))
      }
    }
    guard let available else { return widths }
    let total = widths.reduce(0, +) + Self.gap * (widths.count - 1)
    var excess = total - available
    let room = widths.indices.map { self.columns[$0].isFlexible ? self.cut(widths, $0) : 0 }
    var least = room.reduce(0, +)
    // The last one is the least important.
    for index in widths.indices.reversed() where self.columns[index].isOptional && excess > least {
      excess -= widths[index] + Self.gap
      least -= room[index]
      widths[index] = Self.leftOut
    }
    for index in widths.indices.reversed() where self.columns[index].isFlexible && excess > 0 {
      let cut = min(excess, self.cut(widths, index))
      widths[index] -= cut
      excess -= cut
    }
    return widths
  }

  /// The width of a column that is not shown.
  private static let leftOut = -1

  /// By how much a flexible column can be narrowed.
  private func cut(_ widths: [Int], _ index: Int) -> Int {
    let title = DisplayWidth.of(self.columns[index].title)
    return max(0, widths[index] - max(Self.minimumFlexibleWidth, title))
  }

  private func line(_ cells: [Cell], _ widths: [Int], _ terminal: Terminal) -> String {
    var line = ""
    var blanks = 0
    for (index, cell) in cells.enumerated() where widths[index] != Self.leftOut {
      let text = DisplayWidth.truncate(cell.text, to: max(1, widths[index]))
      let padding = widths[index] - DisplayWidth.of(text)
      let before = self.columns[index].alignment == .right ? padding : 0
      if !text.isEmpty {
        line += String(repeating: " ", count: blanks + before)
        line += terminal.styled(text, cell.style)
        blanks = padding - before + Self.gap
      } else {
        blanks += padding + Self.gap
      }
    }
    return line
  }
}
