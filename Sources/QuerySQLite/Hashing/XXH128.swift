internal import CXXHash
package import FoundationEssentials
import Query

/// The XXH3 hash of some bytes, 128 bits: identities are found by it, and it tells a damaged value
/// from a sound one. It is not a signature: an attacker can make two inputs with one hash.
package struct XXH128: Hashable, Sendable {
  /// The upper and the lower half.
  package let high: UInt64
  package let low: UInt64

  /// A hash of these halves.
  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  /// The hash of bytes.
  ///
  /// - Complexity: O(*n*).
  package init(hashing bytes: UnsafeRawBufferPointer) {
    let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
    self.high = hash.high64
    self.low = hash.low64
  }

  /// The hash of a text's UTF-8.
  ///
  /// - Complexity: O(*n*).
  package init(hashing text: String) {
    var text = text
    self = text.withUTF8 { XXH128(hashing: UnsafeRawBufferPointer($0)) }
  }

  /// The hash of bytes.
  ///
  /// - Complexity: O(*n*).
  package init(hashing data: Data) { self = data.withUnsafeBytes { XXH128(hashing: $0) } }

  /// The hash whose stored form is these 16 bytes, big-endian; nil if there are not 16.
  init?(bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 16 else { return nil }
    self.high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    self.low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  /// Calls a closure with the 16 bytes of the hash, big-endian, the stored form.
  package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeBytes(of: (self.high.bigEndian, self.low.bigEndian), body)
  }
}

extension XXH128: CustomStringConvertible {
  /// The 32 hexadecimal digits of the stored form.
  package var description: String {
    self.withBytes { bytes in
      String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
        for (index, byte) in bytes.enumerated() {
          text[2 * index] = UInt8(hexDigit: byte >> 4)
          text[2 * index + 1] = UInt8(hexDigit: byte & 15)
        }
        return 2 * bytes.count
      }
    }
  }
}
