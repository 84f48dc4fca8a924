internal import CXXHash
import FoundationEssentials
import Query
import QuerySQLite

/// The XXH3 hash, 128 bits, of bytes that arrive piece by piece.
struct ExportChecksum: ~Copyable {
  private let state: OpaquePointer

  /// Begins with no bytes.
  ///
  /// - Throws: `StorageError` if there is no memory.
  init() throws(StorageError) {
    guard let state = XXH3_createState() else {
      throw StorageError(operation: "hash", code: .noMemory, message: "there is no memory")
    }
    self.state = state
    _ = XXH3_128bits_reset(state)
  }

  deinit { XXH3_freeState(self.state) }

  /// Adds a piece.
  func add(_ bytes: Data) {
    _ = bytes.withUnsafeBytes { XXH3_128bits_update(self.state, $0.baseAddress, $0.count) }
  }

  /// The hash of the pieces so far, 32 hexadecimal digits.
  var digits: String {
    let hash = XXH3_128bits_digest(self.state)
    return XXH128(high: hash.high64, low: hash.low64).description
  }
}
