extension CanonicalWriter {
  func writeInteger(_ value: some FixedWidthInteger) {
    if let digit = UInt8(exactly: value), digit < 10 {
      return self.bytes.append(UInt8(ascii: "0") + digit)
    }
    self.bytes += value.description.utf8
  }

  /// Writes a number as `AnyHashable` sees it: an integer if it is one within 64 bits, otherwise a
  /// `Double`.
  func writeDouble(_ value: Double) {
    if let integer = Int64(exactly: value) {
      self.writeInteger(integer)
    } else if let integer = UInt64(exactly: value) {
      self.writeInteger(integer)
    } else if value.isFinite {
      self.bytes += value.description.utf8
    } else if value.isNaN {
      self.append(#"{"Double":"nan"}"#)
    } else {
      self.append(value > 0 ? #"{"Double":"inf"}"# : #"{"Double":"-inf"}"#)
    }
  }

  #if arch(x86_64) || arch(i386)
    /// As ``writeDouble(_:)``; a number that is neither an integer within 64 bits nor a `Double`
    /// equals no value of another type, and is written as a type of its own.
    func writeFloat80(_ value: Float80) {
      if let integer = Int64(exactly: value) {
        self.writeInteger(integer)
      } else if let integer = UInt64(exactly: value) {
        self.writeInteger(integer)
      } else if let double = Double(exactly: value) {
        self.writeDouble(double)
      } else if value.isNaN {
        self.writeDouble(.nan)
      } else {
        self.append(#"{"Float80":""#)
        self.bytes += value.description.utf8
        self.append("\"}")
      }
    }
  #endif
}
