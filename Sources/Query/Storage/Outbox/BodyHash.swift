/// A checksum of the bytes of a file, fed piece by piece.
package protocol BodyHash {
  /// Adds bytes.
  mutating func feed(_ bytes: UnsafeRawBufferPointer)

  /// The checksum of what was added: 32 lower-case hexadecimal digits.
  var digits: String { get }
}

extension FNV1a: BodyHash {
  package var digits: String {
    let digits = String(self.value, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}
