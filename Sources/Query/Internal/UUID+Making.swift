public import FoundationEssentials
import Glibc

extension UUID {
  /// Makes an identifier of version 4 (RFC 9562, 5.4): random bits. `UUID()` opens `/dev/urandom` each
  /// time, and takes ten times as long.
  @usableFromInline
  static func random() -> UUID {
    UUID(random: self.randomBits())
  }

  /// Makes an identifier of version 7 (RFC 9562, 5.7): the milliseconds since 1970, then random bits.
  /// Those that are made one after another stand side by side in an index, but for a clock that is set
  /// back.
  static func inOrder() -> UUID {
    let milliseconds = UInt64(max(Date().microsecondsSince1970, 0) / 1_000)
    return UUID(milliseconds: milliseconds, random: self.randomBits())
  }

  /// As many random bits as an identifier has.
  private static func randomBits() -> (UInt64, UInt64) { RandomBits.shared.withLock { $0.next() } }

  init(random: (UInt64, UInt64)) {
    let high = random.0 & ~0xF000 | 0x4000
    self.init(high: high, variant: random.1)
  }

  init(milliseconds: UInt64, random: (UInt64, UInt64)) {
    let high = milliseconds << 16 | 0x7000 | random.0 & 0x0FFF
    self.init(high: high, variant: random.1)
  }

  /// - Parameters:
  ///   - high: The first eight bytes, with the version.
  ///   - variant: The last eight, whose first two bits become those of the variant.
  private init(high: UInt64, variant: UInt64) {
    let low = 0x8000_0000_0000_0000 | variant & 0x3FFF_FFFF_FFFF_FFFF
    self = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
      UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
  }

  /// The text of ``uuidString``, without the formatting of the C library, which takes ten times as long.
  @usableFromInline var text: String {
    withUnsafeBytes(of: self.uuid) { bytes in
      String(unsafeUninitializedCapacity: 36) { text in
        var place = 0
        for (index, byte) in bytes.enumerated() {
          if index == 4 || index == 6 || index == 8 || index == 10 {
            text[place] = UInt8(ascii: "-")
            place += 1
          }
          text[place] = Self.digit(byte >> 4)
          text[place + 1] = Self.digit(byte & 15)
          place += 2
        }
        return place
      }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}
