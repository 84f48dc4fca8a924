import TestSupport

/// What of a disk outlives a power cut, by a seed.
struct PowerCut {
  /// What becomes of the bytes of a file that are not durable.
  enum Loss: CaseIterable {
    /// All are lost.
    case all
    /// None are lost.
    case none
    /// Those from some write on are.
    case end
    /// Any of the writes are.
    case any
    /// Any sectors are, of any of the writes.
    case torn
  }

  /// What is left in the folder.
  struct Remains {
    var folders = [String]()
    /// The bytes of each file, and its names.
    var files = [(paths: [String], bytes: [UInt8])]()
  }

  private static let sectorSize = 512

  private var generator: SeededGenerator
  private let record: FileRecord

  init(seed: UInt64, _ record: FileRecord) {
    self.generator = SeededGenerator(seed: seed)
    self.record = record
  }

  /// A place to cut the power: anywhere, or beside the rarer calls that make something durable.
  mutating func place(in places: ClosedRange<Int>) -> Int {
    let place = Int.random(in: places, using: &self.generator)
    if Bool.random(using: &self.generator) { return place }
    let turning = self.record.operations[places.lowerBound..<place]
      .lastIndex { $0.kind.isTurningPoint }
    return turning.map { $0 + Int.random(in: 0...1, using: &self.generator) } ?? place
  }

  /// What is left of a disk.
  mutating func remains(of disk: SimulatedDisk) -> Remains {
    let names = self.names(of: disk)
    let usual = Loss.allCases.randomElement(using: &self.generator) ?? .all
    var remains = Remains()
    var paths = [Int: [String]]()
    // Sorted, since a dictionary has another order in each process.
    for (path, node) in names.sorted(by: { $0.key < $1.key }) {
      guard Self.isReached(path, in: names) else { continue }
      switch node {
      case .folder: remains.folders.append(path)
      case .file(let file): paths[file, default: []].append(path)
      }
    }
    for (file, paths) in paths.sorted(by: { $0.key < $1.key }) {
      let isUsual = Bool.random(using: &self.generator)
      let loss = isUsual ? usual : Loss.allCases.randomElement(using: &self.generator) ?? .all
      remains.files.append((paths, self.bytes(of: disk.files[file], loss)))
    }
    return remains
  }

  /// All that was done, as a killed process leaves it.
  static func everything(on disk: SimulatedDisk) -> [String: [UInt8]] {
    var names = [String: SimulatedDisk.Node]()
    for change in disk.names { change.apply(to: &names) }
    return names.compactMapValues { node in
      guard case .file(let file) = node else { return nil }
      var bytes = disk.files[file].durable
      for change in disk.files[file].changes { bytes.apply(change, from: disk.record.bytes) }
      return bytes
    }
  }

  private static func isReached(_ path: String, in names: [String: SimulatedDisk.Node]) -> Bool {
    var folder = SimulatedDisk.folder(of: path)
    while !folder.isEmpty {
      if names[folder] != .folder { return false }
      folder = SimulatedDisk.folder(of: folder)
    }
    return true
  }
}

// MARK: - Names

extension PowerCut {
  private mutating func names(of disk: SimulatedDisk) -> [String: SimulatedDisk.Node] {
    var names = [String: SimulatedDisk.Node]()
    if Bool.random(using: &self.generator) {
      let count = Int.random(in: disk.journaledNames...disk.names.count, using: &self.generator)
      for change in disk.names.prefix(count) { change.apply(to: &names) }
    } else {
      let share = Double(Int.random(in: 0...4, using: &self.generator)) / 4
      for change in disk.names where change.isSynchronised || self.isKept(share) {
        change.apply(to: &names)
      }
    }
    return names
  }

  private mutating func isKept(_ share: Double) -> Bool {
    Double.random(in: 0..<1, using: &self.generator) < share
  }
}

// MARK: - Bytes

extension PowerCut {
  private mutating func bytes(of file: SimulatedDisk.File, _ loss: Loss) -> [UInt8] {
    var bytes = file.durable
    let share = Double.random(in: 0..<1, using: &self.generator)
    let whole = Int.random(in: 0...file.changes.count, using: &self.generator)
    for (index, change) in file.changes.enumerated() {
      let isKept =
        switch loss {
        case .all: false
        case .none: true
        case .end: index < whole
        case .any, .torn: self.isKept(share)
        }
      self.leave(change, isKept, isTorn: loss == .torn, in: &bytes)
    }
    return bytes
  }

  private mutating func leave(
    _ change: SimulatedDisk.Change, _ isKept: Bool, isTorn: Bool, in bytes: inout [UInt8]
  ) {
    guard case .write(let offset, let written) = change else {
      if isKept { bytes.apply(change, from: self.record.bytes) }
      return
    }
    // The length can be there without the bytes.
    let end = offset + written.count
    if !isKept, end > bytes.count, self.isKept(0.3) { bytes.resize(to: end) }
    guard isKept else { return }
    if !isTorn { return bytes.apply(change, from: self.record.bytes) }
    var place = offset
    while place < end {
      let next = min(end, (place / Self.sectorSize + 1) * Self.sectorSize)
      if self.isKept(0.7) {
        let start = written.lowerBound - offset
        bytes.write(self.record.bytes[start + place..<start + next], at: place)
      }
      place = next
    }
  }
}
