import Foundation
import Glibc

/// What a request sends: read piece by piece, and again from the beginning if the connection asks for it.
enum TransferBody: Sendable {
  case data(Data)
  case file(OpenFile)

  /// - Throws: `URLError` if the file cannot be opened.
  init?(_ request: Data?, file: URL?) throws {
    if let file {
      self = .file(try OpenFile(file))
    } else if let request {
      self = .data(request)
    } else {
      return nil
    }
  }

  var size: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.size
    }
  }

  /// Reads a piece.
  ///
  /// - Returns: How many bytes were read: 0 at the end, and nil if the file has become shorter or cannot
  ///   be read.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = Int(min(Int64(buffer.count), self.size - offset))
    guard count > 0 else { return 0 }
    switch self {
    case .data(let data):
      let start = data.startIndex + Int(offset)
      data[start..<start + count].copyBytes(to: buffer)
      return count
    case .file(let file):
      let read = pread(file.descriptor, buffer.baseAddress, count, off_t(offset))
      return read > 0 ? read : nil
    }
  }
}

/// A file that stays readable, whatever happens to its name.
final class OpenFile: Sendable {
  let descriptor: Int32
  /// In bytes, when it was opened.
  let size: Int64

  /// - Throws: `URLError` if it is no file that can be read.
  init(_ url: URL) throws {
    // Bytes: only reads, and no file of a storage.
    let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else {
      let isMissing = descriptor < 0 && errno == ENOENT
      if descriptor >= 0 { close(descriptor) }
      throw URLError(isMissing ? .fileDoesNotExist : .cannotOpenFile)
    }
    self.descriptor = descriptor
    self.size = Int64(status.st_size)
  }

  deinit { close(self.descriptor) }
}
