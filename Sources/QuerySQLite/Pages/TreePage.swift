import Query

/// A page of a table's or an index's tree.
struct TreePage {
  enum Kind: UInt8 {
    case indexInterior = 2
    case tableInterior = 5
    case indexLeaf = 10
    case tableLeaf = 13

    var isLeaf: Bool { self == .indexLeaf || self == .tableLeaf }
    var isTable: Bool { self == .tableInterior || self == .tableLeaf }
  }

  /// The content of a cell.
  struct Cell {
    /// The child page in front of it; nil in a leaf.
    var child: Int?
    /// The row ID, in a table's tree.
    var rowID: Int64 = 0
    /// The length of its record in bytes, and where the first of them are.
    var payload = 0
    var local = 0..<0
    /// The overflow page with the rest of them; nil if there is none.
    var overflow: Int?
    /// The offset behind its last byte in this page.
    var end = 0
  }

  let page: ImagePage
  let kind: Kind

  /// The cells that lie within the page.
  let cells: [Cell]

  /// The last child of an interior page.
  let lastChild: Int?

  /// Whether each byte of the page is accounted for: then any byte outside the cells is of a
  /// removed row, or was never used.
  let isCoherent: Bool

  /// Reads a page.
  ///
  /// - Returns: nil if it does not belong to a tree.
  init?(_ page: ImagePage) {
    let (bytes, base) = (page.bytes, page.offset)
    let start = base + (page.number == 1 && page.order >= 0 ? 100 : 0)
    guard let kind = Kind(rawValue: bytes[start]) else { return nil }
    self.page = page
    self.kind = kind
    let count = bytes.bigEndian16(at: start + 3)
    let content = bytes.bigEndian16(at: start + 5)
    let pointers = start + (kind.isLeaf ? 8 : 12)
    let free = base + (content == 0 ? 65_536 : content)
    self.lastChild = kind.isLeaf ? nil : bytes.pageNumber(at: start + 8)
    var cells = [Cell]()
    var used = 0
    var isCoherent = pointers + 2 * count <= free && free <= base + page.size
    for index in 0..<count {
      let pointer = pointers + 2 * index
      guard pointer + 2 <= base + page.size else { break }
      let offset = base + bytes.bigEndian16(at: pointer)
      guard offset >= free, let cell = Self.cell(page, kind, at: offset) else {
        isCoherent = false
        continue
      }
      used += max(4, cell.end - offset)
      cells.append(cell)
    }
    self.cells = cells
    if isCoherent {
      let freeBytes = Self.freeBytes(page, start, from: free)
      isCoherent =
        freeBytes.map { $0 + used + free == base + page.size } ?? false
    }
    self.isCoherent = isCoherent
  }

  /// How many bytes of a page's cell area are free; nil if that cannot be told.
  private static func freeBytes(_ page: ImagePage, _ start: Int, from: Int) -> Int? {
    let end = page.offset + page.size
    var count = Int(page.bytes[start + 7])
    var next = page.bytes.bigEndian16(at: start + 1)
    var last = from
    while next != 0 {
      let offset = page.offset + next
      guard offset >= last, offset + 4 <= end else { return nil }
      let size = page.bytes.bigEndian16(at: offset + 2)
      guard size >= 4, offset + size <= end else { return nil }
      count += size
      last = offset + size
      next = page.bytes.bigEndian16(at: offset)
    }
    return count
  }
}

// MARK: - Cells

extension TreePage {
  /// Reads a cell.
  ///
  /// - Returns: nil if it does not lie within the page.
  static func cell(_ page: ImagePage, _ kind: Kind, at offset: Int) -> Cell? {
    let end = page.offset + page.size
    var cell = Cell()
    var place = offset
    if !kind.isLeaf {
      guard place + 4 <= end else { return nil }
      cell.child = page.bytes.pageNumber(at: place)
      place += 4
    }
    if kind != .tableInterior {
      guard let payload = page.bytes.varint(at: place, before: end), payload.value >= 0,
        payload.value <= Int64(Int32.max)
      else { return nil }
      (cell.payload, place) = (Int(payload.value), payload.end)
    }
    if kind.isTable {
      guard let rowID = page.bytes.varint(at: place, before: end) else { return nil }
      (cell.rowID, place) = (rowID.value, rowID.end)
    }
    if kind == .tableInterior {
      cell.end = place
      return cell
    }
    let local = Self.localCount(of: cell.payload, usable: page.size, isTable: kind.isTable)
    cell.local = place..<place + local
    cell.end = place + local
    if local < cell.payload {
      guard cell.end + 4 <= end else { return nil }
      cell.overflow = page.bytes.pageNumber(at: cell.end)
      cell.end += 4
    }
    return cell.end <= end ? cell : nil
  }

  /// How many bytes of a record are in its tree's page; the others are in overflow pages.
  private static func localCount(of payload: Int, usable: Int, isTable: Bool) -> Int {
    let most = isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
    if payload <= most { return payload }
    let least = (usable - 12) * 32 / 255 - 23
    let count = least + (payload - least) % (usable - 4)
    return count <= most ? count : least
  }
}

extension DatabaseImage {
  /// The bytes of a record, including those in overflow pages.
  ///
  /// - Returns: The bytes, and the pages; nil if one of the pages is missing.
  func record(
    of cell: TreePage.Cell, in page: ImagePage
  ) -> (bytes: [UInt8], pages: [Int])? {
    var bytes = Array(page.bytes[cell.local])
    guard var next = cell.overflow else { return (bytes, []) }
    var pages = [Int]()
    // No chain is longer than the database.
    guard cell.payload <= (self.pageCount + 1) * self.pageSize else { return nil }
    while bytes.count < cell.payload {
      guard next > 1, pages.count <= self.pageCount, let page = self.current(next) else {
        return nil
      }
      pages.append(next)
      let count = min(cell.payload - bytes.count, self.pageSize - 4)
      bytes += page.bytes[page.offset + 4..<page.offset + 4 + count]
      next = page.bytes.pageNumber(at: page.offset)
    }
    return (bytes, pages)
  }
}
