extension UInt8 {
  /// The ASCII code of the hexadecimal digit, in lower case, of a number below 16.
  package init(hexDigit value: UInt8) {
    self = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
