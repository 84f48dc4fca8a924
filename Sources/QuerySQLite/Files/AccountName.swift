extension String {
  /// The name of an account as the files have it, canonically composed (NFC). Swift takes texts that
  /// differ only in their composition for equal, and SQLite does not.
  package var asAccountName: String {
    self.utf8.allSatisfy { $0 < 0x80 } ? self : String(decoding: self._nfcCodeUnits, as: UTF8.self)
  }
}
