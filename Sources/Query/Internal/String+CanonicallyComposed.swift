extension String {
  /// The text in NFC. Swift takes texts that differ only in their composition for equal, and SQLite, which
  /// compares bytes, does not.
  ///
  /// The `==` of strings goes by this normal form. Foundation's `precomposedStringWithCanonicalMapping` knows an
  /// older Unicode, so that strings which are equal came out different, and takes forty times as long.
  package var canonicallyComposed: String {
    // All scalars before U+0300, the first that combines with another, begin with lower bytes.
    self.utf8.allSatisfy { $0 < 0xCC } ? self : String(decoding: self._nfcCodeUnits, as: UTF8.self)
  }
}
