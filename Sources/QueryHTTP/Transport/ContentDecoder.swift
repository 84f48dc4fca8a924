import CZlib

/// Unpacks a body as it arrives, and knows whether it was whole. libcurl could unpack it, too, but takes one
/// that breaks off for a whole one.
final class ContentDecoder {
  /// The codings that a request asks for if it does not say what it wants.
  static let accepted = "gzip, deflate"

  private enum State {
    case notBegun
    case inside
    /// Whatever comes behind is no part of the body.
    case ended
  }

  private enum Coding {
    /// RFC 1952, one member or more.
    case gzip
    /// RFC 1950; some servers send RFC 1951 alone.
    case deflate
  }

  private let coding: Coding
  private var state = State.notBegun
  /// At a fixed address: zlib keeps a pointer to it.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)

  /// - Parameter name: The name of the coding as of RFC 9110, 8.4.1.
  /// - Returns: nil if it is none that this can unpack.
  init?(_ name: String) {
    switch name.lowercased() {
    case "gzip", "x-gzip": self.coding = .gzip
    case "deflate": self.coding = .deflate
    default: return nil
    }
    self.stream.initialize(to: z_stream())
  }

  deinit {
    if self.state != .notBegun { inflateEnd(self.stream) }
    self.stream.deallocate()
    self.buffer.deallocate()
  }

  /// Whether what has come is a whole body; none at all is one.
  var isWhole: Bool { self.state != .inside }

  /// Unpacks some bytes.
  ///
  /// - Parameters:
  ///   - bytes: What has arrived.
  ///   - take: Takes some of what they hold; returns whether more of it is wanted.
  /// - Returns: Whether more is wanted.
  /// - Throws: ``Problem`` if they are not packed as was said.
  func unpack(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) throws(Problem) -> Bool {
    var rest = bytes[...]
    // zlib keeps what finds no room.
    var mayHoldMore = false
    while !rest.isEmpty || mayHoldMore {
      if let first = rest.first {
        guard try self.begin(with: first) else { return true }
      }
      let (status, read, written) = self.inflate(UnsafeRawBufferPointer(rebasing: rest))
      rest = rest.dropFirst(read)
      let unpacked = UnsafeRawBufferPointer(
        rebasing: UnsafeRawBufferPointer(self.buffer)[..<written])
      guard unpacked.isEmpty || take(unpacked) else { return false }
      switch status {
      case Z_OK: mayHoldMore = written == self.buffer.count
      case Z_STREAM_END: (self.state, mayHoldMore) = (.ended, false)
      // There was nothing to unpack; there is always room.
      case Z_BUF_ERROR where rest.isEmpty: mayHoldMore = false
      default: throw Problem()
      }
    }
    return true
  }

  /// Begins the body, or the next member of it.
  ///
  /// - Returns: Whether the byte belongs to the body.
  private func begin(with byte: UInt8) throws(Problem) -> Bool {
    switch self.state {
    case .inside: return true
    case .notBegun:
      guard czlib_inflate_begin(self.stream, self.windowBits(byte)) == Z_OK else {
        throw Problem()
      }
    case .ended:
      guard self.coding == .gzip, byte == 0x1f, inflateReset(self.stream) == Z_OK else {
        return false
      }
    }
    self.state = .inside
    return true
  }

  private func windowBits(_ first: UInt8) -> Int32 {
    switch self.coding {
    case .gzip: MAX_WBITS + 16
    // By the first byte of RFC 1950: the method, and a window of up to 32 KiB.
    case .deflate: first & 0x0f == 8 && first >> 4 <= 7 ? MAX_WBITS : -MAX_WBITS
    }
  }

  private func inflate(
    _ bytes: UnsafeRawBufferPointer
  ) -> (status: Int32, read: Int, written: Int) {
    let count = min(bytes.count, Int(UInt32.max))
    self.stream.pointee.next_in = UnsafeMutablePointer(
      mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    self.stream.pointee.avail_in = UInt32(count)
    self.stream.pointee.next_out = self.buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    self.stream.pointee.avail_out = UInt32(self.buffer.count)
    let status = CZlib.inflate(self.stream, Z_NO_FLUSH)
    return (
      status, count - Int(self.stream.pointee.avail_in),
      self.buffer.count - Int(self.stream.pointee.avail_out)
    )
  }

  /// The bytes are not packed as was said.
  struct Problem: Error {}
}
