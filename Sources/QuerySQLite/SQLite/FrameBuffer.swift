import CSQLite

/// The memory in which the frames of a commit are gathered, so that one call to the system writes them
/// all. It is allocated by the first commit, since most connections only read.
final class FrameBuffer {
  private var buffer: UnsafeMutablePointer<csqlite_gathering>?

  deinit { self.buffer?.deallocate() }

  /// The buffer, whose content the shim alone knows.
  var pointer: UnsafeMutablePointer<csqlite_gathering> {
    if let buffer { return buffer }
    let buffer = UnsafeMutablePointer<csqlite_gathering>.allocate(capacity: 1)
    self.buffer = buffer
    return buffer
  }
}
