import Foundation

extension PowerCut.Remains {
  /// Makes what is left, in an empty folder.
  ///
  /// - Throws: `POSIXError`.
  func write(to folder: String) throws {
    for name in self.folders {
      guard mkdir("\(folder)/\(name)", 0o700) == 0 else { throw Self.lastError }
    }
    for (paths, bytes) in self.files {
      guard let first = paths.first else { continue }
      let file = open("\(folder)/\(first)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Self.lastError }
      defer { close(file) }
      var written = 0
      while written < bytes.count {
        let count = bytes.withUnsafeBytes { bytes in
          Foundation.write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        }
        guard count > 0 else { throw Self.lastError }
        written += count
      }
      for name in paths.dropFirst() {
        guard link("\(folder)/\(first)", "\(folder)/\(name)") == 0 else { throw Self.lastError }
      }
    }
  }

  private static var lastError: POSIXError { POSIXError(.init(rawValue: errno) ?? .EIO) }
}
