import Foundation
import Query

/// What the headers of an answer say about keeping it (RFC 9111).
struct HTTPFreshness: Hashable, Sendable {
  /// Whether it must not be written to a disk.
  var isUnstorable: Bool
  /// How long it is fresh from now on; nil: the server does not say.
  var lifetime: Duration?

  /// How far in the future a date counts: the clock of a server without a battery may be years ahead.
  static let longestDate = Duration.seconds(86_400)

  /// - Parameters:
  ///   - headers: The answer's, their names in lower case.
  ///   - now: The time, for a server that does not say its own.
  init(_ headers: [String: String], now: Date) {
    let directives = Self.directives(headers["cache-control"] ?? "")
    self.isUnstorable = directives["no-store"] != nil
    if self.isUnstorable || directives["no-cache"] != nil {
      self.lifetime = .zero
    } else if let maximum = directives["max-age"] {
      let age = headers["age"].flatMap(Self.seconds) ?? 0
      // What is no number counts as stale.
      self.lifetime = .seconds(max(0, (Self.seconds(maximum) ?? 0) - age))
    } else if let expires = headers["expires"] {
      let from = headers["date"].flatMap { HTTPDate.parse($0) } ?? now
      let seconds = HTTPDate.parse(expires)?.timeIntervalSince(from) ?? 0
      self.lifetime = min(max(.zero, .seconds(seconds)), Self.longestDate)
    }
  }

  /// The directives of a `Cache-Control`, their names in lower case. The first of a name counts.
  private static func directives(_ header: String) -> [String: String] {
    var (found, rest) = ([String: String](), header[...])
    while !rest.isEmpty {
      var isQuoted = false
      let end = rest.firstIndex { character in
        if character == "\"" { isQuoted.toggle() }
        return character == "," && !isQuoted
      }
      let parts = rest[..<(end ?? rest.endIndex)].split(separator: "=", maxSplits: 1)
      rest = end.map { rest[rest.index(after: $0)...] } ?? ""
      guard let name = parts.first?.trimmingCharacters(in: .whitespaces).lowercased() else {
        continue
      }
      let value = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      let bare = value.filter { $0 != "\"" }
      if found[name] == nil { found[name] = bare }
    }
    return found
  }

  /// A number of seconds; more than a century is a century.
  private static func seconds(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return min(Int(text) ?? .max, 100 * 366 * 86_400)
  }
}
