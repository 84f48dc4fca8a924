import Foundation

/// The SHA-256 digest of FIPS 180-4, by which a page's content policy names the one script and the
/// one style sheet that may run in it.
///
/// Not for secrets: it is neither fast nor does it take the same time for all inputs.
enum SHA256 {
  /// The digest of a text's UTF-8 bytes.
  ///
  /// - Returns: 32 bytes.
  static func digest(of text: String) -> [UInt8] {
    var state = self.start
    let bytes = self.padded(Array(text.utf8))
    for block in stride(from: 0, to: bytes.count, by: 64) {
      self.compress(bytes[block..<block + 64], into: &state)
    }
    return state.flatMap { word in
      [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: word >> shift) }
    }
  }

  /// The message with a one bit, zeros, and its length in bits: a whole number of blocks of 64
  /// bytes.
  private static func padded(_ message: [UInt8]) -> [UInt8] {
    var bytes = message + [0x80]
    bytes += Array(repeating: 0, count: (120 - bytes.count % 64) % 64)
    let bits = UInt64(message.count) * 8
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
    return bytes
  }

  /// The 64 rounds over one block.
  private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    let words = self.schedule(block)
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for round in 0..<64 {
      let mixedE = self.rotate(e, 6) ^ self.rotate(e, 11) ^ self.rotate(e, 25)
      let choice = (e & f) ^ (~e & g)
      let first = h &+ mixedE &+ choice &+ self.constants[round] &+ words[round]
      let mixedA = self.rotate(a, 2) ^ self.rotate(a, 13) ^ self.rotate(a, 22)
      let majority = (a & b) ^ (a & c) ^ (b & c)
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ mixedA &+ majority)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  /// The 64 words that the rounds take from a block.
  private static func schedule(_ block: ArraySlice<UInt8>) -> [UInt32] {
    let bytes = Array(block)
    var words = [UInt32]()
    for index in stride(from: 0, to: 64, by: 4) {
      words.append(bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
    for index in 16..<64 {
      let (x, y) = (words[index - 15], words[index - 2])
      let low = self.rotate(x, 7) ^ self.rotate(x, 18) ^ x >> 3
      let high = self.rotate(y, 17) ^ self.rotate(y, 19) ^ y >> 10
      words.append(words[index - 16] &+ low &+ words[index - 7] &+ high)
    }
    return words
  }

  /// The bits of a word moved to the right, and in again at the left.
  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  /// The fractions of the square roots of the first eight primes.
  private static let start: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
    0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]

  /// The fractions of the cube roots of the first 64 primes.
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5,
    0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3,
    0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc,
    0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
    0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3,
    0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5,
    0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208,
    0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
