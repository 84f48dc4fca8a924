import Query

/// A page of a database, from the file or from a frame of its WAL.
struct ImagePage {
  let number: Int
  /// The whole file or WAL, and where the page begins in it.
  let bytes: [UInt8]
  let offset: Int
  let size: Int
  /// How new it is: 0 in the file, and the number of the frame in the WAL, from 1.
  let order: Int

  /// Whether it was never written, or all of it was lost.
  var isZero: Bool { !self.bytes[self.offset..<self.offset + self.size].contains { $0 != 0 } }
}

/// A damaged database that was set aside, and its WAL, page by page.
struct DatabaseImage {
  /// The size of a page.
  let pageSize: Int

  /// How many pages there may be, judging by the lengths of the files and by the WAL: not by the
  /// header.
  let pageCount: Int

  /// How many bytes the disk cannot read.
  let unreadable: Int

  let log: LogImage

  private let file: [UInt8]
  /// By page: its valid frames, the newest last.
  private var frames = [Int: [Int]]()
  /// Frames of committed transactions that cannot be relied on.
  private var brokenFrames = [Int]()
  /// By page: frames from before the WAL was invalidated.
  private var oldFrames = [Int: [Int]]()

  static func isPageSize(_ size: Int) -> Bool {
    (512...65_536).contains(size) && size.nonzeroBitCount == 1
  }

  /// Reads a database.
  ///
  /// - Throws: `StorageError`.
  init(path: String) throws(StorageError) {
    let file = try FileBytes.read(path)
    let log = try FileBytes.read("\(path)-wal")
    self.init(
      file: file?.bytes ?? [], log: log?.bytes ?? [],
      unreadable: (file?.unreadable ?? 0) + (log?.unreadable ?? 0))
  }

  /// The file alone.
  var withoutLog: DatabaseImage {
    DatabaseImage(file: self.file, log: [], unreadable: self.unreadable)
  }

  /// Reads a database and its WAL, both of them in memory.
  init(file: [UInt8], log: [UInt8], unreadable: Int = 0) {
    self.file = file
    self.unreadable = unreadable
    let written = file.bigEndian16(at: 16)
    let found = written == 1 ? 65_536 : written
    let guessed = Self.isPageSize(found) ? found : 4_096
    self.log = LogImage(log, pageSize: guessed)
    self.pageSize = self.log.frames.isEmpty ? guessed : self.log.pageSize
    var count = file.count / self.pageSize
    for (index, frame) in self.log.frames.enumerated() where frame.page > 0 {
      switch frame.state {
      case .whole, .mended:
        if index < self.log.committedCount { self.frames[frame.page, default: []].append(index) }
      case .broken, .flipped:
        if index < self.log.committedCount { self.brokenFrames.append(index) }
        continue
      case .foreign:
        // The WAL of a closed database may hold all that is left of a page.
        guard self.log.isIdle else { continue }
        self.oldFrames[frame.page, default: []].append(index)
      }
      if index < self.log.committedCount || self.log.isIdle { count = max(count, frame.page) }
    }
    self.pageCount = count
  }
}

// MARK: - Pages

extension DatabaseImage {
  /// The numbers of all pages with any content: not all up to ``pageCount``, which a flipped bit
  /// can turn into a thousand million.
  var numbers: [Int] {
    Set(1..<self.file.count / self.pageSize + 1).union(self.frames.keys).union(self.oldFrames.keys)
      .sorted()
  }

  /// A page as SQLite would read it if nothing were damaged; nil if there is none.
  func current(_ number: Int) -> ImagePage? {
    if let index = self.frames[number]?.last { return self.page(ofFrame: index) }
    return self.pageOfFile(number)
  }

  /// A page of the file; nil if the file has none of that number.
  func pageOfFile(_ number: Int) -> ImagePage? {
    guard number > 0, number <= self.file.count / self.pageSize else { return nil }
    return ImagePage(
      number: number, bytes: self.file, offset: (number - 1) * self.pageSize, size: self.pageSize,
      order: 0)
  }

  /// The earlier versions of this page, before ``current(_:)``, the newest first.
  func older(_ number: Int) -> [ImagePage] {
    var pages = [ImagePage]()
    let frames = self.frames[number] ?? []
    pages += frames.dropLast().reversed().map { self.page(ofFrame: $0) }
    if !frames.isEmpty, number <= self.file.count / self.pageSize {
      pages.append(
        ImagePage(
          number: number, bytes: self.file, offset: (number - 1) * self.pageSize,
          size: self.pageSize, order: 0))
    }
    pages += (self.oldFrames[number] ?? []).reversed().map { self.page(ofFrame: $0, order: -1) }
    return pages
  }

  /// Pages in the WAL that cannot be relied on, and may have another number than they say.
  var broken: [ImagePage] { self.brokenFrames.map { self.page(ofFrame: $0) } }

  func page(ofFrame index: Int, order: Int? = nil) -> ImagePage {
    let frame = self.log.frames[index]
    return ImagePage(
      number: frame.page, bytes: self.log.bytes, offset: frame.offset, size: self.pageSize,
      order: order ?? index + 1)
  }
}
