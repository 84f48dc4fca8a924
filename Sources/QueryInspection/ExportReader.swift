import FoundationEssentials
import Glibc
import Query
import QuerySQLite

/// Reads an export from a file, line by line, in bounded memory.
struct ExportReader {
  /// The path of the file.
  let path: String

  /// The maximum length of a line: it has room for a value of 32 MiB in Base64, which takes a third
  /// of it. An export has no longer ones.
  static let maximumLine = 128 << 20

  /// Calls a closure with each line, without its line feed.
  ///
  /// - Throws: `InspectionError`: bad export if a line is too long, or the last one has no line
  ///   feed; unavailable if the file cannot be read. Errors of the closure.
  func forEachLine(_ body: (_ number: Int, _ bytes: Data) throws -> Void) throws {
    // Bytes: an export, which is only read.
    let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw self.failure(errno) }
    defer { close(descriptor) }
    var (rest, number) = (Data(), 0)
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw self.failure(errno) }
      if count == 0 { break }
      var piece = buffer[..<count]
      while let end = piece.firstIndex(of: 0x0a) {
        number += 1
        try body(number, rest + piece[..<end])
        rest = Data()
        piece = piece[(end + 1)...]
      }
      rest += piece
      if rest.count > Self.maximumLine {
        throw InspectionError.badExport(line: number + 1, "is too long")
      }
    }
    if !rest.isEmpty { throw InspectionError.badExport(line: number + 1, "is cut off") }
  }

  private func failure(_ number: Int32) -> InspectionError {
    .unavailable(StorageError(errno: number, operation: "read", path: self.path))
  }
}

// MARK: - Rows

extension ExportReader {
  /// The items of an export, in order.
  enum Item {
    case header(ExportLine)
    case entry(ImportedEntry)
    /// A row of a table of mutations, with its line for error messages.
    case row(ExportTable, [ExportValue], ExportLine)
    case outbox(ExportLine)
    /// Bytes of a file, in order: the first ones are part 0.
    case body(name: String, part: Int64, Data)
  }

  /// Reads all lines, and checks their kinds, order, count and checksum. The import uses none of it
  /// until it reads the file a second time.
  ///
  /// - Returns: The header.
  /// - Throws: `InspectionError`: bad export; unavailable.
  func verify() throws -> ExportLine {
    var header: ExportLine?
    try self.forEachItem { if case .header(let line) = $0 { header = line } }
    guard let header else { throw InspectionError.badExport(line: 1, "is missing") }
    return header
  }

  /// Calls a closure with each item of the export.
  ///
  /// - Throws: `InspectionError`: bad export, possibly after calls of the closure; unavailable.
  ///   Errors of the closure.
  func forEachItem(_ body: (Item) throws -> Void) throws {
    let checksum = try ExportChecksum()
    var parser = Parser(schema: try ExportSchema.current.get())
    var last = 0
    try self.forEachLine { number, bytes in
      last = number
      func bad(_ what: String) -> InspectionError { .badExport(line: number, what) }
      if parser.isAtEnd { throw bad("stands behind the end") }
      guard let line = ExportLine(bytes) else { throw bad("is not a line of an export") }
      if line.kind == .trailer {
        guard line.integer("lines") == Int64(number - 1), line.text("checksum") == checksum.digits
        else { throw bad("says that lines before it are not what was written") }
      }
      checksum.add(bytes + Data([0x0a]))
      guard let items = parser.add(line) else { throw bad("cannot stand there") }
      for item in items { try body(item) }
    }
    if !parser.isAtEnd {
      throw InspectionError.badExport(line: last + 1, "is missing: the export is cut off")
    }
  }

  /// Assembles items from lines, and checks their order.
  private struct Parser {
    let schema: ExportSchema
    var isAtEnd = false
    private var hasHeader = false
    private var hasOutbox = false
    private var entry: (line: ExportLine, pages: [ExportLine], missing: Int64)?
    /// The part of a file that the last line was.
    private var body: (name: String, part: Int64)?

    init(schema: ExportSchema) { self.schema = schema }

    /// - Returns: The items that are now complete; nil if the line may not come at this point.
    mutating func add(_ line: ExportLine) -> [Item]? {
      if !self.hasHeader {
        guard line.kind == .header, line.text("format") == StoreExport.format,
          line.integer("version") == StoreExport.version, line.text("partition") != nil,
          let hasOutbox = line.integer("hasOutbox")
        else { return nil }
        (self.hasHeader, self.hasOutbox) = (true, hasOutbox != 0)
        return [.header(line)]
      }
      if var entry {
        guard line.kind == .page else { return nil }
        entry.pages.append(line)
        entry.missing -= 1
        self.entry = entry
        return self.wholeEntry()
      }
      let before = self.body
      self.body = nil
      switch line.kind {
      case .header, .page: return nil
      case .trailer:
        self.isAtEnd = true
        return []
      case .entry:
        guard let pages = line.integer("pages"), pages >= 0 else { return nil }
        self.entry = (line, [], pages)
        return self.wholeEntry()
      case .ended: return Self.row(self.schema.ended, line)
      case .attempt: return Self.row(self.schema.attempt, line)
      case .outbox: return self.hasOutbox ? [.outbox(line)] : nil
      case .mutation:
        // A running mutation is never exported as such: the process that runs it is elsewhere.
        guard self.hasOutbox, ["pending", "dead"].contains(line.text("state") ?? ""),
          (1...Int64.max / 2).contains(line.integer("number") ?? 0)
        else { return nil }
        return Self.row(self.schema.mutation, line)
      case .dependency: return self.hasOutbox ? Self.row(self.schema.dependency, line) : nil
      case .alias: return self.hasOutbox ? Self.row(self.schema.alias, line) : nil
      case .pause: return self.hasOutbox ? Self.row(self.schema.pause, line) : nil
      case .forgotten: return self.hasOutbox ? Self.row(self.schema.forgotten, line) : nil
      case .body: return self.hasOutbox ? self.body(line, after: before) : nil
      }
    }

    /// A later part stands behind the one before it.
    private mutating func body(
      _ line: ExportLine, after before: (name: String, part: Int64)?
    ) -> [Item]? {
      guard let name = line.text("name"), BodyNames.isPlain(name), let data = line.bytes("data")
      else { return nil }
      let part = line.integer("part") ?? 0
      if part != 0 {
        guard let before, before.name == name, before.part == part - 1 else { return nil }
      }
      self.body = (name, part)
      return [.body(name: name, part: part, data)]
    }

    private mutating func wholeEntry() -> [Item]? {
      guard let entry, entry.missing == 0 else { return [] }
      self.entry = nil
      return ImportedEntry(entry.line, entry.pages).map { [.entry($0)] }
    }

    private static func row(_ table: ExportTable, _ line: ExportLine) -> [Item]? {
      table.values(line).map { [.row(table, $0, line)] }
    }
  }
}
