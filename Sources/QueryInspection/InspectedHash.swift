import FoundationEssentials
import Query
import QuerySQLite

/// The hash by which an identity is found: 32 hexadecimal digits, of which users type the first 12.
package struct InspectedHash: Hashable, Sendable, CustomStringConvertible {
  let bytes: XXH128

  init(_ hash: XXH128) { self.bytes = hash }

  /// All digits.
  package var description: String { self.bytes.description }

  /// The first 12 digits.
  package var short: String { String(self.description.prefix(12)) }

  /// Whether the hash begins with some digits, in either case.
  package func hasPrefix(_ digits: String) -> Bool {
    self.description.hasPrefix(digits.lowercased())
  }

  /// The lowest and the highest hash that begin with some digits, as 16 bytes; nil if the text has
  /// other characters or more than 32 digits.
  static func range(ofPrefix digits: String) -> (lowest: Data, highest: Data)? {
    let values = digits.utf8.map { $0 < 0x80 ? Character(UnicodeScalar($0)).hexDigitValue : nil }
    guard (1...32).contains(values.count), !values.contains(nil) else { return nil }
    func bytes(filling rest: Int) -> Data {
      let all = values.compactMap { $0 } + [Int](repeating: rest, count: 32 - values.count)
      return Data((0..<16).map { UInt8(all[2 * $0] << 4 | all[2 * $0 + 1]) })
    }
    return (bytes(filling: 0), bytes(filling: 15))
  }

  /// The hashes that begin with some digits: see ``range(ofPrefix:)``.
  static func hashes(ofPrefix digits: String) -> ClosedRange<InspectedHash>? {
    guard let (lowest, highest) = self.range(ofPrefix: digits) else { return nil }
    func hash(_ bytes: Data) -> InspectedHash {
      let halves = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
      return InspectedHash(XXH128(high: halves[0], low: halves[1]))
    }
    return hash(lowest)...hash(highest)
  }
}

extension InspectedHash: Comparable {
  package static func < (first: Self, second: Self) -> Bool {
    (first.bytes.high, first.bytes.low) < (second.bytes.high, second.bytes.low)
  }
}
