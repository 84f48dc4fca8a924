/// What is on a disk while a record is played, and what is not there yet for sure.
///
/// A sync of a file makes its bytes and its length durable. What makes a name durable is asked two ways:
/// a journal keeps the order of all names, and any sync makes all before it durable; a strict disk
/// promises a name with a sync of its folder alone.
struct SimulatedDisk {
  /// What a name stands for.
  enum Node: Hashable {
    case folder
    case file(Int)
  }

  /// What was done to the bytes of a file, and is not durable yet.
  enum Change {
    case write(at: Int, Range<Int>)
    case truncate(Int)
  }

  /// What a file holds.
  struct File {
    var durable = [UInt8]()
    var changes = [Change]()
  }

  /// What was done to a name, whole or not at all.
  struct NameChange {
    /// The name that goes; nil: none.
    var removed: String?
    /// The name that comes, and what it stands for; nil: none.
    var added: (path: String, node: Node)?
    /// Whether its folder was synchronised afterwards.
    var isSynchronised = false

    func apply(to names: inout [String: Node]) {
      if let removed { names[removed] = nil }
      if let added { names[added.path] = added.node }
    }

    func isIn(_ folder: String) -> Bool {
      [self.removed, self.added?.path].contains { $0.map(SimulatedDisk.folder) == folder }
    }
  }

  let record: FileRecord
  private(set) var files = [File]()
  private(set) var names = [NameChange]()
  /// So many of the names are durable with a journal.
  private(set) var journaledNames = 0
  private var numbers = [UInt64: Int]()
  private var played = 0

  init(_ record: FileRecord) { self.record = record }

  static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }
}

// MARK: - Playing

extension SimulatedDisk {
  /// Plays the record up to a place. Only forward.
  mutating func play(to place: Int) {
    while self.played < place {
      self.play(self.record.operations[self.played])
      self.played += 1
    }
  }

  private mutating func play(_ operation: FileRecord.Operation) {
    switch operation.kind {
    case .mark: break
    case .create:
      self.numbers[operation.file] = self.files.count
      self.add(operation.path, .file(self.files.count))
      self.files.append(File())
    case .write: self.change(operation, .write(at: operation.offset, operation.written))
    case .truncate: self.change(operation, .truncate(operation.offset))
    case .sync:
      self.journaledNames = self.names.count
      guard let file = self.numbers[operation.file] else { return }
      for change in self.files[file].changes {
        self.files[file].durable.apply(change, from: self.record.bytes)
      }
      self.files[file].changes = []
    case .syncFolder:
      self.journaledNames = self.names.count
      for index in self.names.indices where self.names[index].isIn(operation.path) {
        self.names[index].isSynchronised = true
      }
    case .link: self.numbers[operation.file].map { self.add(operation.other, .file($0)) }
    case .rename:
      guard let file = self.numbers[operation.file] else { return }
      self.names.append(
        NameChange(removed: operation.path, added: (operation.other, .file(file))))
    case .unlink, .removeFolder: self.names.append(NameChange(removed: operation.path))
    case .makeFolder: self.add(operation.path, .folder)
    }
  }

  private mutating func add(_ path: String, _ node: Node) {
    self.names.append(NameChange(added: (path, node)))
  }

  private mutating func change(_ operation: FileRecord.Operation, _ change: Change) {
    guard let file = self.numbers[operation.file] else { return }
    self.files[file].changes.append(change)
  }
}

extension [UInt8] {
  /// Makes a change that was recorded.
  mutating func apply(_ change: SimulatedDisk.Change, from record: [UInt8]) {
    switch change {
    case .truncate(let size): self.resize(to: size)
    case .write(let offset, let written): self.write(record[written], at: offset)
    }
  }

  /// Writes bytes, after zeros if the file ends before the offset.
  mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    if self.count < offset + bytes.count { self.resize(to: offset + bytes.count) }
    self.withUnsafeMutableBytes { target in
      bytes.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + source.count])
          .copyMemory(from: source)
      }
    }
  }

  /// Makes it shorter, or longer with zeros.
  mutating func resize(to size: Int) {
    if size < self.count {
      self.removeLast(self.count - size)
    } else {
      self.append(contentsOf: repeatElement(0, count: size - self.count))
    }
  }
}
