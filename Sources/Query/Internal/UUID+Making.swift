public import FoundationEssentials

extension UUID {
  /// Makes an identifier of version 4 (RFC 9562, 5.4): random bits. `UUID()` opens `/dev/urandom` each
  /// time, and takes ten times as long.
  @usableFromInline
  static func random() -> UUID {
    var generator = SystemRandomNumberGenerator()
    return UUID(random: (generator.next(), generator.next()))
  }

  /// Makes an identifier of version 7 (RFC 9562, 5.7): the milliseconds since 1970, then random bits.
  /// Those that are made one after another stand side by side in an index, but for a clock that is set
  /// back.
  static func inOrder() -> UUID {
    let milliseconds = UInt64(max(Date().microsecondsSince1970, 0) / 1_000)
    var generator = SystemRandomNumberGenerator()
    return UUID(
      milliseconds: milliseconds, random: (generator.next(), generator.next()))
  }

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
}
