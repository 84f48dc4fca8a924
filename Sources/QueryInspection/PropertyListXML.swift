import FoundationEssentials
import Glibc

/// A binary property list as XML, as Foundation writes it. Foundation's own reader is not in
/// `FoundationEssentials`, and brings the tables of ICU into every tool.
struct PropertyListXML {
  /// Lists within lists that are shown; deeper ones are shown as bytes, as Foundation refuses them.
  private static let maximumDepth = 512

  private let list: BinaryPropertyList
  private var lines = [
    #"<?xml version="1.0" encoding="UTF-8"?>"#,
    #"<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">"#,
    #"<plist version="1.0">"#,
  ]

  private init(_ list: BinaryPropertyList) { self.list = list }

  /// The text; nil if a part is damaged, or of a kind that XML does not have.
  ///
  /// - Parameter list: A list with no part within itself, of as many parts as may be shown.
  static func text(of list: BinaryPropertyList) -> String? {
    var xml = Self(list)
    guard xml.add(list.top, depth: 0) else { return nil }
    return (xml.lines + ["</plist>"]).joined(separator: "\n") + "\n"
  }

  /// Adds a part. Returns whether it could be read.
  private mutating func add(_ part: Int, depth: Int) -> Bool {
    guard depth < Self.maximumDepth, let value = self.list.value(of: part) else { return false }
    let margin = String(repeating: "\t", count: depth)
    switch value {
    case .boolean(let isTrue): self.lines.append(margin + (isTrue ? "<true/>" : "<false/>"))
    case .integer(let number): self.lines.append("\(margin)<integer>\(number)</integer>")
    case .real(let number): self.lines.append("\(margin)<real>\(Self.text(number))</real>")
    case .date(let date): self.lines.append("\(margin)<date>\(date.formatted(.iso8601))</date>")
    case .data(let data): self.add(data, margin)
    case .string(let text):
      self.lines.append("\(margin)<string>\(Self.escape(text))</string>")
    case .array(let children):
      if children.isEmpty {
        self.lines.append("\(margin)<array/>")
        return true
      }
      self.lines.append("\(margin)<array>")
      for child in children { if !self.add(child, depth: depth + 1) { return false } }
      self.lines.append("\(margin)</array>")
    case .dictionary(let keys, let values): return self.add(keys, values, depth)
    }
    return true
  }

  private mutating func add(_ keys: [Int], _ values: [Int], _ depth: Int) -> Bool {
    let margin = String(repeating: "\t", count: depth)
    var items = [(key: String, value: Int)]()
    for (key, value) in zip(keys, values) {
      guard case .string(let text) = self.list.value(of: key) else { return false }
      items.append((text, value))
    }
    if items.isEmpty {
      self.lines.append("\(margin)<dict/>")
      return true
    }
    self.lines.append("\(margin)<dict>")
    for item in items.sorted(by: { $0.key < $1.key }) {
      self.lines.append("\(margin)\t<key>\(Self.escape(item.key))</key>")
      if !self.add(item.value, depth: depth + 1) { return false }
    }
    self.lines.append("\(margin)</dict>")
    return true
  }

  private mutating func add(_ data: Data, _ margin: String) {
    // In lines of at most 76 columns, in which a tab counts eight, as Foundation has them.
    let width = max(76 - margin.utf8.count * 8, 4) / 4 * 4
    self.lines.append("\(margin)<data>")
    var rest = data.base64EncodedString()[...]
    while !rest.isEmpty {
      self.lines.append(margin + rest.prefix(width))
      rest = rest.dropFirst(width)
    }
    self.lines.append("\(margin)</data>")
  }

  private static func text(_ number: Double) -> String {
    if number.isNaN { return "nan" }
    if number.isInfinite { return number < 0 ? "-infinity" : "+infinity" }
    // 17 digits tell a number from every other one.
    var bytes = [CChar](repeating: 0, count: 64)
    let count = withVaList([number]) { vsnprintf(&bytes, bytes.count, "%.17g", $0) }
    return String(decoding: bytes.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func escape(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
