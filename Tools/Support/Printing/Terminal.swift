import FoundationEssentials
import Glibc

/// What printing needs to know about the standard output.
package struct Terminal: Hashable, Sendable {
  /// How many columns there are; nil if the output is not a terminal, so that nothing is truncated.
  package var width: Int?
  /// Whether to use colour.
  package var hasColour: Bool

  /// Whether it is a terminal.
  package var isTerminal: Bool { self.width != nil }

  /// Creates one, for tests.
  package init(width: Int?, hasColour: Bool) {
    self.width = width
    self.hasColour = hasColour
  }

  /// A pipe or a file.
  package static let pipe = Terminal(width: nil, hasColour: false)

  /// Looks at a descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor.
  ///   - environment: The process's variables: `NO_COLOR` that is not empty and `TERM=dumb` turn
  ///   colour off, `COLUMNS` counts if the terminal does not report its size.
  package init(
    of descriptor: Int32 = STDOUT_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    guard isatty(descriptor) == 1 else {
      self = .pipe
      return
    }
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    self.width = isKnown ? Int(size.ws_col) : columns ?? 80
    let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    self.hasColour = !isPlain && environment["TERM"] != "dumb"
  }

  /// A text in a style, if there is colour.
  package func styled(_ text: String, _ style: TextStyle) -> String {
    guard self.hasColour, let code = style.code else { return text }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}

/// How text looks if there is colour.
package enum TextStyle: Hashable, Sendable {
  /// As everything.
  case plain
  /// A heading.
  case strong
  /// What matters less.
  case faint
  /// All is well.
  case good
  /// Something waits.
  case warning
  /// Something is wrong.
  case bad

  /// The parameters of the escape sequence.
  var code: String? {
    switch self {
    case .plain: nil
    case .strong: "1"
    case .faint: "2"
    case .good: "32"
    case .warning: "33"
    case .bad: "31"
    }
  }
}
