internal import CXXHash
import Query

/// An ``XXH128`` of bytes that come piece by piece.
final class XXH128Stream: BodyHash {
  private let state: OpaquePointer

  init() {
    // It fails only if there is no memory left.
    guard let state = XXH3_createState() else { preconditionFailure("out of memory") }
    self.state = state
    XXH3_128bits_reset(state)
  }

  deinit { XXH3_freeState(self.state) }

  func feed(_ bytes: UnsafeRawBufferPointer) {
    XXH3_128bits_update(self.state, bytes.baseAddress, bytes.count)
  }

  var digits: String {
    let hash = XXH3_128bits_digest(self.state)
    return "\(XXH128(high: hash.high64, low: hash.low64))"
  }
}
