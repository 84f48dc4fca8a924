/// The 64-bit FNV-1a hash, fed piece by piece. It only detects damage, and changes.
package struct FNV1a: Sendable {
  package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  package init() {}

  /// - Complexity: O(*n*) in the number of bytes.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
    var value = self.value
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    self.value = value
  }
}
