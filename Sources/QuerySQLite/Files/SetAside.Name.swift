import FoundationEssentials
import Glibc

extension SetAside {
  /// The name of a database that was set aside, without the suffixes of its companions. Sorted by
  /// date.
  package struct Name: Hashable, Comparable, Sendable {
    /// The reason.
    let reason: Reason
    /// The time in UTC, as `20260131T120000Z`.
    let date: String
    /// Numbers the names of one second; the name leaves out the 1 of the first.
    var number = 1

    /// The suffix of a companion's name while the database does not have its new name yet.
    static let part = ".part"

    /// Makes a name.
    init(reason: Reason, date: Date) {
      self.reason = reason
      var seconds = time_t(date.timeIntervalSince1970)
      var fields = tm()
      gmtime_r(&seconds, &fields)
      let numbers = [
        (fields.tm_year + 1_900, 4), (fields.tm_mon + 1, 2), (fields.tm_mday, 2),
        (fields.tm_hour, 2), (fields.tm_min, 2), (fields.tm_sec, 2),
      ]
      let texts = numbers.map { number, width in
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
      }
      self.date = texts[..<3].joined() + "T" + texts[3...].joined() + "Z"
    }

    /// Reads the name of a database file or of a companion's. nil for any other name: a file that
    /// the user calls `cache.sqlite.corrupt-copy` is the user's.
    init?(fileName: String, of kind: DatabaseKind) {
      let prefix = "\(kind.fileName)."
      guard fileName.hasPrefix(prefix) else { return nil }
      var rest = fileName.dropFirst(prefix.count)
      let suffixes = SetAside.companions.flatMap { [$0 + Self.part, $0] } + ["-shm"]
      if let suffix = suffixes.first(where: { rest.hasSuffix($0) }) {
        rest = rest.dropLast(suffix.count)
      }
      var fields = rest.split(separator: "-", omittingEmptySubsequences: false)[...]
      switch fields.popFirst() {
      case "corrupt": self.reason = .corrupt
      case "level":
        guard let level = fields.popFirst().flatMap({ Self.number($0) }) else { return nil }
        self.reason = .newer(level: level)
      default: return nil
      }
      guard let date = fields.popFirst(), Self.isDate(date) else { return nil }
      self.date = String(date)
      if let text = fields.popFirst() {
        guard let number = Self.number(text), number > 1 else { return nil }
        self.number = number
      }
      guard fields.isEmpty else { return nil }
    }

    /// The name of the file.
    package func fileName(of kind: DatabaseKind) -> String {
      let reason =
        switch self.reason {
        case .corrupt: "corrupt"
        case .newer(let level): "level-\(level)"
        }
      let number = self.number == 1 ? "" : "-\(self.number)"
      return "\(kind.fileName).\(reason)-\(self.date)\(number)"
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
      (lhs.date, lhs.number) < (rhs.date, rhs.number)
    }

    /// A number as this type writes it: digits alone, without leading zeros.
    private static func number(_ text: Substring) -> Int? {
      Int(text).flatMap { String($0) == text && $0 >= 0 ? $0 : nil }
    }

    private static func isDate(_ text: Substring) -> Bool {
      let shape = text.utf8.map { (0x30...0x39).contains($0) ? UInt8(ascii: "0") : $0 }
      return shape == Array("00000000T000000Z".utf8)
    }
  }
}
