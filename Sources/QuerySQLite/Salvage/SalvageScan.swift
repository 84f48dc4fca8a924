import Query

/// Finds the rows of a damaged outbox, whatever else is damaged in its file.
///
/// It begins with the trees, as SQLite would. Pages that no tree leads to any more are searched one
/// by one: a row is recognised by its columns and its checksum. Nothing relies on the file's header
/// or schema: the root pages are known.
///
/// A freed page keeps its old rows. They are not salvaged as if they had been lost: a row that is
/// known to have ended, from the history or because the index no longer has it, stays ended.
struct SalvageScan {
  /// A row of a table.
  struct Row {
    let rowID: Int64
    var values: [StoredValue]
    /// The order of its page: ``ImagePage/order``.
    let order: Int
    /// Whether its table's tree leads to it.
    let isCertain: Bool
  }

  let image: DatabaseImage
  let layout: SalvageLayout

  /// The rows of each table.
  private(set) var rows = [String: [Row]]()

  /// The records of each index.
  private(set) var records = [String: [[StoredValue]]]()

  /// The trees that lack nothing.
  private(set) var wholeTrees = Set<String>()

  private let encoding: StoredEncoding
  private var roots = [String: Int]()
  /// Pages that belong to a tree.
  private var visited = Set<Int>()
  /// Pages that should belong to a tree, and are damaged.
  private var damaged = Set<Int>()

  init(_ image: DatabaseImage, _ layout: SalvageLayout) {
    self.image = image
    self.layout = layout
    self.encoding = Self.encoding(of: image)
    self.readSchema()
    for tree in layout.trees.values.sorted(by: { $0.name < $1.name }) where !tree.columns.isEmpty {
      guard let root = self.root(of: tree) else {
        if let root = tree.roots.first { self.damaged.insert(root) }
        continue
      }
      if self.walk(root, tree) { self.wholeTrees.insert(tree.name) }
    }
    if self.isWhole { return }
    let free = self.freePages()
    for number in image.numbers
    where !self.visited.contains(number) && !free.contains(number) || self.damaged.contains(number)
    {
      self.search(number)
    }
    for page in image.broken { self.search(page) }
  }

  /// Whether every tree is whole, so that there is nothing to look for elsewhere.
  private var isWhole: Bool {
    self.image.broken.isEmpty
      && self.layout.trees.values.allSatisfy {
        $0.columns.isEmpty || self.wholeTrees.contains($0.name)
      }
  }

  /// Texts are UTF-8, whatever the header says, unless the schema's are not.
  private static func encoding(of image: DatabaseImage) -> StoredEncoding {
    guard let page = image.current(1) else { return .utf8 }
    let bytes = page.bytes[page.offset..<page.offset + page.size]
    let word = Array("CREATE".utf8)
    func has(_ pattern: [UInt8]) -> Bool {
      bytes.indices.contains { bytes[$0...].starts(with: pattern) }
    }
    switch page.bytes.bigEndian32(at: page.offset + 56) {
    case 2: return has(word.flatMap { [$0, 0] }) ? .utf16LittleEndian : .utf8
    case 3: return has(word.flatMap { [0, $0] }) ? .utf16BigEndian : .utf8
    default: return .utf8
    }
  }
}

// MARK: - Root pages

extension SalvageScan {
  private mutating func readSchema() {
    let columns = self.layout.schemaColumns
    let schema = SalvageLayout.Tree(
      name: "sqlite_schema", table: "sqlite_schema", isTable: true, columns: columns, roots: [1])
    _ = self.walk(1, schema)
    // Page 1 belongs to a tree, whatever became of it.
    self.visited.insert(1)
    for row in self.rows["sqlite_schema"] ?? [] {
      guard case .text(let name) = row.values[1], case .integer(let root) = row.values[3],
        (2...Int64(max(2, self.image.pageCount))).contains(root)
      else { continue }
      self.roots[String(decoding: name, as: UTF8.self)] = Int(root)
    }
    self.damaged.remove(1)
  }

  /// The root page of a tree: by the schema, or else where it is in a file that was just made or
  /// vacuumed.
  private func root(of tree: SalvageLayout.Tree) -> Int? {
    let candidates = [self.roots[tree.name]].compactMap { $0 } + tree.roots
    return candidates.first { !self.visited.contains($0) && self.begins(tree, at: $0) }
  }

  /// Whether a page looks like the root of a tree, judging by its first record.
  private func begins(_ tree: SalvageLayout.Tree, at number: Int) -> Bool {
    var number = number
    for _ in 0..<20 {
      guard let page = self.image.current(number), let node = TreePage(page),
        node.kind.isTable == tree.isTable
      else { return false }
      if node.kind.isLeaf {
        if node.cells.isEmpty { return node.isCoherent }
        return node.cells.contains { self.record($0, page, tree) != nil }
      }
      guard let child = node.cells.first?.child ?? node.lastChild else { return false }
      number = child
    }
    return false
  }

  /// The record of a cell, if it is one of a tree's.
  private func record(
    _ cell: TreePage.Cell, _ page: ImagePage, _ tree: SalvageLayout.Tree
  ) -> (values: [StoredValue], pages: [Int])? {
    guard let (bytes, pages) = self.image.record(of: cell, in: page),
      let values = StoredValue.record(bytes, self.encoding), tree.fits(values)
    else { return nil }
    return (values, pages)
  }
}

// MARK: - Trees

extension SalvageScan {
  /// Reads a tree or a part of one.
  ///
  /// - Returns: Whether all of it could be read.
  private mutating func walk(
    _ number: Int, _ tree: SalvageLayout.Tree, depth: Int = 0
  ) -> Bool {
    guard depth < 20, number > 0, !self.visited.contains(number) else { return false }
    guard let page = self.image.current(number), let node = TreePage(page),
      node.kind.isTable == tree.isTable
    else {
      self.damaged.insert(number)
      return false
    }
    var isWhole = node.isCoherent
    if node.kind != .tableInterior {
      let found = node.cells.map { ($0, self.record($0, page, tree)) }
      // A page of another tree, to which a damaged page number led.
      if !found.isEmpty, !found.contains(where: { $0.1 != nil }) {
        self.damaged.insert(number)
        return false
      }
      for (cell, record) in found {
        if let record { self.add(record.values, cell, page, tree) } else { isWhole = false }
        self.visited.formUnion(record?.pages ?? [])
      }
    }
    self.visited.insert(number)
    if !isWhole { self.damaged.insert(number) }
    let numbers = node.cells.map(\.rowID)
    if tree.isTable, zip(numbers, numbers.dropFirst()).contains(where: { $0 >= $1 }) {
      isWhole = false
    }
    for child in node.cells.compactMap(\.child) + [node.lastChild].compactMap({ $0 }) {
      let isChildWhole = self.walk(child, tree, depth: depth + 1)
      isWhole = isWhole && isChildWhole
    }
    return isWhole
  }

  private mutating func add(
    _ values: [StoredValue], _ cell: TreePage.Cell, _ page: ImagePage, _ tree: SalvageLayout.Tree
  ) {
    if tree.isTable {
      self.rows[tree.name, default: []].append(
        Row(rowID: cell.rowID, values: values, order: page.order, isCertain: true))
    } else {
      self.records[tree.name, default: []].append(values)
    }
  }
}

// MARK: - Free pages

extension SalvageScan {
  /// The pages that the database has freed: their rows were deleted, or are elsewhere.
  private func freePages() -> Set<Int> {
    guard let first = self.image.current(1) else { return self.guessedFreePages() }
    let trunk = first.bytes.pageNumber(at: first.offset + 32)
    let count = first.bytes.pageNumber(at: first.offset + 36)
    var free = Set<Int>()
    var next = trunk
    while next != 0, free.count <= self.image.pageCount {
      guard !free.contains(next), let pages = self.freePages(ofTrunk: next) else { break }
      free.formUnion(pages)
      free.insert(next)
      next = self.image.current(next).map { $0.bytes.pageNumber(at: $0.offset) } ?? -1
    }
    return next == 0 && free.count == count ? free : self.guessedFreePages()
  }

  /// The pages that a trunk page of the free list names; nil if it is not a trunk page.
  private func freePages(ofTrunk number: Int) -> [Int]? {
    guard number > 1, !self.visited.contains(number), let page = self.image.current(number) else {
      return nil
    }
    let count = page.bytes.pageNumber(at: page.offset + 4)
    guard page.bytes.pageNumber(at: page.offset) <= self.image.pageCount,
      count <= page.size / 4 - 2
    else { return nil }
    let pages = (0..<count).map { page.bytes.pageNumber(at: page.offset + 8 + 4 * $0) }
    let isList =
      Set(pages).count == count
      && pages.allSatisfy {
        $0 > 1 && $0 <= self.image.pageCount && !self.visited.contains($0)
      }
    return isList ? pages : nil
  }

  /// The free pages if the header does not lead to them: nothing else looks like a list of pages.
  private func guessedFreePages() -> Set<Int> {
    var free = Set<Int>()
    for number in self.image.numbers {
      guard let pages = self.freePages(ofTrunk: number), !pages.isEmpty else { continue }
      free.insert(number)
      free.formUnion(pages)
    }
    return free
  }
}

// MARK: - Pages that no tree leads to

extension SalvageScan {
  /// Searches a page for rows, and its earlier versions if it is damaged.
  private mutating func search(_ number: Int) {
    let current = self.image.current(number)
    if let current { self.search(current) }
    let isSound = current.flatMap { TreePage($0) }?.isCoherent ?? false
    if !isSound || self.damaged.contains(number) {
      for page in self.image.older(number) { self.search(page) }
    }
  }

  private mutating func search(_ page: ImagePage) {
    let node = TreePage(page)
    if let node, node.kind == .tableLeaf {
      for cell in node.cells { self.keep(cell, page) }
    }
    if node?.isCoherent == true || page.isZero { return }
    // The page does not tell which of its bytes are rows.
    guard let outbox = self.layout.trees["outbox"] else { return }
    for cell in self.cells(of: outbox, anywhereIn: page) {
      if let record = self.record(cell, page, outbox) {
        self.keep(record.values, cell, page, outbox)
      }
    }
  }

  private mutating func keep(_ cell: TreePage.Cell, _ page: ImagePage) {
    guard let (bytes, _) = self.image.record(of: cell, in: page),
      let values = StoredValue.record(bytes, self.encoding)
    else { return }
    let tree = self.layout.trees.values.first {
      $0.isTable && !$0.columns.isEmpty && $0.fits(values)
    }
    if let tree { self.keep(values, cell, page, tree) }
  }

  private mutating func keep(
    _ values: [StoredValue], _ cell: TreePage.Cell, _ page: ImagePage, _ tree: SalvageLayout.Tree
  ) {
    self.rows[tree.name, default: []].append(
      Row(rowID: cell.rowID, values: values, order: page.order, isCertain: false))
  }

  /// Cells whose record looks like a row of a table, judging by the record's header: the first
  /// column, the row ID, is NULL in it.
  private func cells(
    of tree: SalvageLayout.Tree, anywhereIn page: ImagePage
  ) -> [TreePage.Cell] {
    let count = tree.columns.count
    let end = page.offset + page.size
    var cells = [TreePage.Cell]()
    for start in page.offset + 2..<max(page.offset + 2, end - count) {
      let headerCount = Int(page.bytes[start])
      guard page.bytes[start + 1] == 0, headerCount > count, headerCount < 128,
        start + headerCount <= end
      else { continue }
      var (place, payload, columns) = (start + 1, headerCount, 0)
      while place < start + headerCount,
        let type = page.bytes.varint(at: place, before: start + headerCount),
        let size = StoredValue.count(ofType: type.value)
      {
        (place, payload, columns) = (type.end, payload + size, columns + 1)
      }
      guard columns == count, place == start + headerCount else { continue }
      // Its length and the row ID are in front of it.
      for offset in stride(from: start - 2, through: max(page.offset, start - 12), by: -1) {
        guard let cell = TreePage.cell(page, .tableLeaf, at: offset),
          cell.local.lowerBound == start, cell.payload == payload
        else { continue }
        cells.append(cell)
        break
      }
    }
    return cells
  }
}
