import FoundationEssentials

/// JSON with a line for each key and element, for reading. The parts are copied as they are: a
/// number keeps its digits, a key its place, a string its escapes; and it is not recursive,
/// whatever the depth.
enum PrettyJSON {
  /// Anything deeper stays on one line: a value of nothing but brackets must not become a hundred
  /// times as long.
  private static let maximumDepth = 24

  /// A longer text is shown as it is.
  private static let maximumBytes = 4 << 20

  /// The text; nil if the bytes are not JSON in UTF-8.
  ///
  /// - Complexity: O(*n*).
  static func text(of data: Data) -> String? {
    if data.count > Self.maximumBytes { return String(validating: data, as: UTF8.self) }
    var printer = Printer()
    for byte in data { if !printer.add(byte) { return nil } }
    guard printer.isWhole, let text = String(validating: printer.output, as: UTF8.self) else {
      return nil
    }
    return text
  }

  /// Lays out one byte after the other. It checks only what the layout needs, which is less than
  /// JSON's grammar: matching brackets, and strings that end.
  private struct Printer {
    var output = [UInt8]()
    private var brackets = [UInt8]()
    private var isInString = false
    private var isEscaped = false
    private var isFresh = false
    private var hasValue = false

    /// Whether the bytes so far are a whole value.
    var isWhole: Bool { self.hasValue && self.brackets.isEmpty && !self.isInString }

    mutating func add(_ byte: UInt8) -> Bool {
      if self.isInString {
        self.output.append(byte)
        if self.isEscaped {
          self.isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          self.isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          self.isInString = false
        }
        return byte >= 0x20
      }
      switch byte {
      case 0x20, 0x09, 0x0a, 0x0d: return true
      case UInt8(ascii: "{"), UInt8(ascii: "["): self.open(byte)
      case UInt8(ascii: "}"): return self.close(byte, UInt8(ascii: "{"))
      case UInt8(ascii: "]"): return self.close(byte, UInt8(ascii: "["))
      case UInt8(ascii: ","):
        if self.brackets.isEmpty || self.isFresh { return false }
        self.output.append(byte)
        self.breakLine()
      case UInt8(ascii: ":"):
        if self.brackets.last != UInt8(ascii: "{") { return false }
        self.output += [byte, 0x20]
      case 0x21..<0x7f:
        self.begin()
        self.output.append(byte)
        self.isInString = byte == UInt8(ascii: "\"")
      default: return false
      }
      return true
    }

    private mutating func begin() {
      if self.isFresh { self.breakLine() }
      self.isFresh = false
      self.hasValue = true
    }

    private mutating func open(_ byte: UInt8) {
      self.begin()
      self.output.append(byte)
      self.brackets.append(byte)
      self.isFresh = true
    }

    private mutating func close(_ byte: UInt8, _ opening: UInt8) -> Bool {
      guard self.brackets.popLast() == opening else { return false }
      if !self.isFresh { self.breakLine() }
      self.isFresh = false
      self.output.append(byte)
      return true
    }

    private mutating func breakLine() {
      if self.brackets.count > PrettyJSON.maximumDepth { return }
      self.output.append(0x0a)
      self.output += [UInt8](repeating: 0x20, count: 2 * self.brackets.count)
    }
  }
}
