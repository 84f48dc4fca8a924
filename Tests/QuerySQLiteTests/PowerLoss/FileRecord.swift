import CFileRecorder
import Foundation

/// What a process did to the files of a folder, in its order.
struct FileRecord {
  /// What was done once.
  struct Operation {
    let kind: Kind
    /// Relative to the folder, "" for the folder itself; of a mark: its text.
    let path: String
    /// The second name of a link, the new one of a rename.
    let other: String
    /// The number of the file, which another one may get when it is gone.
    let file: UInt64
    /// The offset of written bytes, or the new length.
    let offset: Int
    /// The range of the written bytes in ``FileRecord/bytes``.
    let written: Range<Int>
  }

  enum Kind: Int {
    case mark, create, write, truncate, sync, syncFolder, link, rename, unlink, makeFolder
    case removeFolder

    init?(code: Int) { self.init(rawValue: code - FILE_RECORD_MARK) }

    /// Whether what is durable, or which names there are, is another one afterwards.
    var isTurningPoint: Bool { self != .write && self != .truncate }
  }

  let bytes: [UInt8]
  let operations: [Operation]

  /// Reads a record; one that a killed process has not ended is read as far as it is whole.
  init(path: String) throws {
    self.bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    var operations = [Operation]()
    var place = 0
    while let operation = Self.read(self.bytes, &place) { operations.append(operation) }
    self.operations = operations
  }

  private static func read(_ bytes: [UInt8], _ place: inout Int) -> Operation? {
    let size = MemoryLayout<file_record>.size
    guard place + size <= bytes.count else { return nil }
    let head = bytes.withUnsafeBytes {
      $0.loadUnaligned(fromByteOffset: place, as: file_record.self)
    }
    let path = place + size..<place + size + Int(head.path_size)
    let other = path.upperBound..<path.upperBound + Int(head.other_size)
    let written = other.upperBound..<other.upperBound + Int(head.size)
    guard written.upperBound <= bytes.count, let kind = Kind(code: Int(head.kind)) else {
      return nil
    }
    place = written.upperBound
    return Operation(
      kind: kind, path: String(decoding: bytes[path], as: UTF8.self),
      other: String(decoding: bytes[other], as: UTF8.self), file: head.file,
      offset: Int(head.offset), written: written)
  }

  /// The place behind a mark; 0 if there is none.
  func place(after mark: String) -> Int {
    let index = self.operations.lastIndex { $0.kind == .mark && $0.path == mark }
    return index.map { $0 + 1 } ?? 0
  }
}
