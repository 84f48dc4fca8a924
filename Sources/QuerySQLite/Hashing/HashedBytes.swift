import Foundation

/// The bytes of several columns in one row, to be hashed together.
///
/// Not by a text that is put together: that takes ten times as long as the hash.
struct HashedBytes {
  private var bytes = [UInt8]()

  /// - Parameter capacity: How many bytes are expected.
  init(capacity: Int) { self.bytes.reserveCapacity(capacity) }

  /// Adds the decimal digits of a number.
  mutating func append(_ number: Int) {
    var rest = number.magnitude
    if number < 0 { self.bytes.append(UInt8(ascii: "-")) }
    let first = self.bytes.count
    repeat {
      self.bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    self.bytes[first...].reverse()
  }

  /// Adds a text.
  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { self.bytes.append(contentsOf: $0) }
  }

  /// Adds bytes.
  mutating func append(_ data: Data) {
    data.withUnsafeBytes { self.bytes.append(contentsOf: $0) }
  }

  /// The hash of all that was added.
  var hash: XXH128 { self.bytes.withUnsafeBytes { XXH128(hashing: $0) } }
}
