import CSQLite
import Query

/// Writes zeros over the bytes in a database's pages that belong to no row: free pages, the gaps
/// between a page's cells, and what is behind the end of a long value. Deleted rows leave copies
/// there whenever a tree is balanced, and SQLite reaches them only with a `VACUUM`, which keeps
/// every other connection from writing for as long as it takes.
///
/// SQLite reads none of these bytes, so they are written to the file itself, past its WAL. That is
/// safe under the write lock and the checkpoint lock, while all of the WAL is in the file and
/// before a commit: no connection copies a page into the file meanwhile, and a connection that has
/// an older copy in memory reads the page anew after the commit, before it writes. A write that a
/// power cut tears changes nothing but those bytes.
struct PageScrub {
  /// Whether a pass has reached its end.
  private(set) var isDone = false

  /// Whether another connection has written since the pass began.
  private(set) var hasSeenOthers = false

  /// The next page. From the last to the first, since pages move to the front.
  private var next = Int.max

  /// A number that each commit of another connection changes, as it was in the last step.
  private var version: Int64?

  /// Notes that number in a step.
  mutating func note(_ version: Int64) {
    if let last = self.version, last != version { self.hasSeenOthers = true }
    self.version = version
  }

  /// Runs a step, in a write transaction that has read nothing yet.
  ///
  /// - Returns: Whether it ran; it does not while another connection checkpoints.
  /// - Throws: `StorageError`.
  mutating func run(_ budget: StepBudget, on connection: SQLiteConnection) throws -> Bool {
    guard let file = try PageFile(connection) else {
      self.isDone = true
      return true
    }
    return try file.locked { try self.run(budget, in: file) }
  }

  private mutating func run(_ budget: StepBudget, in file: PageFile) throws {
    let free = try FreePages(in: file)
    self.next = min(self.next, file.pageCount)
    var count = 0
    // The first page belongs to the schema alone.
    while self.next > 1, !budget.isSpent(after: count) {
      try self.clean(self.next, in: file, free)
      self.next -= 1
      count += 1
    }
    self.isDone = self.next <= 1
  }

  private func clean(_ number: Int, in file: PageFile, _ free: FreePages) throws {
    if file.isOfSQLite(number) { return }
    let page = try file.read(number)
    if free.pages.contains(number) { return try file.clear([0..<page.size], of: page) }
    if let entries = free.lists[number] {
      return try file.clear([min(8 + 4 * entries, page.size)..<page.size], of: page)
    }
    // A page that belongs to no tree begins with the number of another page.
    guard let tree = TreePage(page), tree.isCoherent else { return }
    try file.clear(tree.unused, of: page)
    for cell in tree.cells where cell.overflow != nil { try self.cleanEnd(of: cell, in: file) }
  }

  /// Clears the bytes behind the end of a value in the last of its own pages. A number that was damaged leads
  /// to another page as a rule, which names a next one, or is of a tree.
  private func cleanEnd(of cell: TreePage.Cell, in file: PageFile) throws {
    var left = cell.payload - cell.local.count
    guard var number = cell.overflow, left <= file.pageCount * file.pageSize, file.has(number)
    else { return }
    while left > file.pageSize - 4 {
      number = try file.readNext(number)
      left -= file.pageSize - 4
      guard file.has(number) else { return }
    }
    let page = try file.read(number)
    guard page.bytes.pageNumber(at: 0) == 0 else { return }
    try file.clear([4 + left..<page.size], of: page)
  }
}

/// The free pages of a database.
private struct FreePages {
  /// Those that hold nothing.
  private(set) var pages = Set<Int>()
  /// Those that list free pages, and how many each lists.
  private(set) var lists = [Int: Int]()

  init(in file: PageFile) throws {
    var next = try file.read(1).bytes.pageNumber(at: 32)
    while file.has(next), self.lists[next] == nil {
      let bytes = try file.read(next).bytes
      let count = min(bytes.pageNumber(at: 4), (file.pageSize - 8) / 4)
      self.lists[next] = count
      for index in 0..<count { self.pages.insert(bytes.pageNumber(at: 8 + 4 * index)) }
      next = bytes.pageNumber(at: 0)
    }
  }
}

extension TreePage {
  /// The bytes that are in no cell: between the cells' pointers and the first cell, and those of
  /// former cells.
  fileprivate var unused: [Range<Int>] {
    let bytes = self.page.bytes
    let content = bytes.bigEndian16(at: 5)
    let places = (self.kind.isLeaf ? 8 : 12) + 2 * bytes.bigEndian16(at: 3)
    var ranges = [places..<(content == 0 ? 65_536 : content)]
    var next = bytes.bigEndian16(at: 1)
    while next != 0 {
      let size = bytes.bigEndian16(at: next + 2)
      ranges.append(next + 4..<next + size)
      next = bytes.bigEndian16(at: next)
    }
    return ranges
  }
}

/// The file of a database, page by page. Used under the write lock, while all of the WAL is in the
/// file; written inside ``locked(_:)``.
private struct PageFile {
  let pageSize: Int
  let pageCount: Int
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let methods: sqlite3_io_methods
  private let fileName: String
  /// Whether some pages map where others are.
  private let hasMaps: Bool

  /// - Returns: nil if the file is not open, or so large that its pages cannot be told apart: the
  ///   first byte of a page's number may then be that of a kind of page.
  init?(_ connection: SQLiteConnection) throws {
    guard
      let file = try connection.filePointer(SQLITE_FCNTL_FILE_POINTER, "overwrite"),
      let methods = file.pointee.pMethods?.pointee
    else { return nil }
    (self.file, self.methods, self.fileName) = (file, methods, connection.fileName)
    var header = [UInt8](repeating: 0, count: 100)
    let result = methods.xRead?(file, &header, 100, 0) ?? SQLITE_ERROR
    try connection.check(result, "overwrite")
    let size = header.bigEndian16(at: 16)
    self.pageSize = size == 1 ? 65_536 : size
    self.pageCount = header.pageNumber(at: 28)
    self.hasMaps = header.pageNumber(at: 52) != 0
    guard DatabaseImage.isPageSize(self.pageSize), self.pageCount < 1 << 24 else { return nil }
  }

  private func check(_ result: Int32?) throws(StorageError) {
    let result = result ?? SQLITE_ERROR
    if result == SQLITE_OK { return }
    throw StorageError(
      operation: "overwrite", result: result, handle: nil, fileName: self.fileName)
  }

  /// Runs a closure under the lock that a checkpoint holds, so that no connection checkpoints
  /// meanwhile.
  ///
  /// - Returns: Whether it ran.
  func locked(_ body: () throws -> Void) throws -> Bool {
    let result = self.lock(SQLITE_SHM_LOCK)
    if result == SQLITE_BUSY { return false }
    try self.check(result)
    defer { _ = self.lock(SQLITE_SHM_UNLOCK) }
    try body()
    return true
  }

  private func lock(_ operation: Int32) -> Int32 {
    // The lock's number and length are part of the WAL's format.
    let (checkpoint, count): (Int32, Int32) = (1, 1)
    return self.methods.xShmLock?(
      self.file, checkpoint, count, operation | SQLITE_SHM_EXCLUSIVE) ?? SQLITE_ERROR
  }

  /// Whether a page holds data about other pages, or nothing that SQLite uses.
  func isOfSQLite(_ number: Int) -> Bool {
    let lockPage = (1 << 30) / self.pageSize + 1
    if number == lockPage { return true }
    guard self.hasMaps else { return false }
    let perMap = self.pageSize / 5 + 1
    let map = (number - 2) / perMap * perMap + 2
    return number == (map == lockPage ? map + 1 : map)
  }

  /// Whether there is such a page behind the first one, which belongs to the schema alone.
  func has(_ number: Int) -> Bool { number > 1 && number <= self.pageCount }

  func read(_ number: Int) throws -> ImagePage {
    var bytes = [UInt8](repeating: 0, count: self.pageSize)
    try self.check(
      self.methods.xRead?(self.file, &bytes, Int32(self.pageSize), self.place(of: number)))
    return ImagePage(number: number, bytes: bytes, offset: 0, size: self.pageSize, order: 0)
  }

  /// The number that a page begins with.
  func readNext(_ number: Int) throws -> Int {
    var bytes = [UInt8](repeating: 0, count: 4)
    try self.check(self.methods.xRead?(self.file, &bytes, 4, self.place(of: number)))
    return bytes.pageNumber(at: 0)
  }

  /// Writes zeros over parts of a page that hold other bytes.
  func clear(_ ranges: [Range<Int>], of page: ImagePage) throws {
    var bytes = page.bytes
    var isChanged = false
    for range in ranges where bytes[range].contains(where: { $0 != 0 }) {
      bytes.replaceSubrange(range, with: repeatElement(0, count: range.count))
      isChanged = true
    }
    if !isChanged { return }
    // Bytes: of the database, none that SQLite reads, under the write lock and the checkpoint lock.
    try self.check(
      self.methods.xWrite?(self.file, bytes, Int32(bytes.count), self.place(of: page.number)))
  }

  private func place(of number: Int) -> Int64 { Int64(number - 1) * Int64(self.pageSize) }
}
