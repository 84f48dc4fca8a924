import FoundationEssentials
import Glibc

extension UUID {
  /// Makes an identifier of version 7 (RFC 9562, 5.7): the milliseconds since 1970, then random bits.
  /// Those that are made one after another stand side by side in an index, but for a clock that is set
  /// back.
  static func inOrder() -> UUID {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let milliseconds = UInt64(now.tv_sec) &* 1_000 &+ UInt64(now.tv_nsec) / 1_000_000
    var generator = SystemRandomNumberGenerator()
    return UUID(
      milliseconds: milliseconds, random: (generator.next(), generator.next()))
  }

  init(milliseconds: UInt64, random: (UInt64, UInt64)) {
    let high = milliseconds << 16 | 0x7000 | random.0 & 0x0FFF
    let low = 0x8000_0000_0000_0000 | random.1 & 0x3FFF_FFFF_FFFF_FFFF
    self = withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes in
      UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
  }
}
