import FoundationEssentials

/// The structure of a binary property list: how many parts it has, each counted at every place that
/// refers to it.
///
/// A part may be referred to from many places, so that a list of a few hundred bytes can have more
/// parts than fit into memory, and Foundation makes all of them.
struct BinaryPropertyList {
  let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  let top: Int
  private let table: Int

  /// Reads the trailer of a list, which describes its structure; nil if the data is not a list.
  init?(_ data: Data) {
    self.bytes = Array(data)
    let end = self.bytes.count - 32
    guard end >= 8, data.starts(with: Data("bplist00".utf8)) else { return nil }
    self.offsetSize = Int(self.bytes[end + 6])
    self.referenceSize = Int(self.bytes[end + 7])
    guard let count = Self.number(self.bytes, at: end + 8, 8),
      let top = Self.number(self.bytes, at: end + 16, 8),
      let table = Self.number(self.bytes, at: end + 24, 8),
      (1...8).contains(self.offsetSize), (1...8).contains(self.referenceSize),
      count <= end, top < count, table <= end
    else { return nil }
    (self.count, self.top, self.table) = (count, top, table)
  }

  /// A big-endian number of some bytes; nil if it is not within the list, or too large to be of
  /// use.
  private static func number(_ bytes: [UInt8], at start: Int, _ size: Int) -> Int? {
    guard start >= 0, start <= bytes.count - size else { return nil }
    var number: UInt64 = 0
    for byte in bytes[start..<(start + size)] { number = number << 8 | UInt64(byte) }
    return number <= UInt64(bytes.count) ? Int(number) : nil
  }

  /// Where a part begins; nil if it is not within the list.
  func start(of part: Int) -> Int? {
    let start = Self.number(
      self.bytes, at: self.table + part * self.offsetSize, self.offsetSize)
    return start.flatMap { $0 < self.bytes.count ? $0 : nil }
  }

  /// The length that a part begins with, and where its content is; nil if it is damaged.
  func length(_ start: Int) -> (place: Int, length: Int)? {
    let (place, length) = (start + 1, Int(self.bytes[start] & 0xf))
    if length != 0xf { return (place, length) }
    guard place < self.bytes.count, self.bytes[place] & 0xf0 == 0x10 else { return nil }
    let size = 1 << Int(self.bytes[place] & 0xf)
    guard size <= 8, let number = Self.number(self.bytes, at: place + 1, size) else { return nil }
    return (place + 1 + size, number)
  }

  /// The children of a part; nil if it is damaged.
  func children(of part: Int) -> [Int]? {
    guard let start = self.start(of: part) else { return nil }
    let marker = self.bytes[start]
    guard [0xa0, 0xc0, 0xd0].contains(marker & 0xf0) else { return [] }
    guard case (let place, var length)? = self.length(start) else { return nil }
    if marker & 0xf0 == 0xd0 { length *= 2 }
    guard length * self.referenceSize <= self.bytes.count - place else { return nil }
    var children = [Int]()
    for index in 0..<length {
      let child = Self.number(
        self.bytes, at: place + index * self.referenceSize, self.referenceSize)
      guard let child, child < self.count else { return nil }
      children.append(child)
    }
    return children
  }

  /// How many parts there are, each counted at every place; nil if one contains itself, if there
  /// are more than a limit, or if the list is damaged.
  ///
  /// - Complexity: O(*n*) in the bytes.
  func parts(upTo limit: Int) -> Int? {
    var counts = [Int](repeating: 0, count: self.count)
    var isOpen = [Bool](repeating: false, count: self.count)
    var waiting = [self.top]
    var looked = 0
    while let part = waiting.last {
      if counts[part] > 0 {
        waiting.removeLast()
        continue
      }
      guard let children = self.children(of: part) else { return nil }
      // Each child is visited twice.
      looked += children.count
      if looked > 2 * limit { return nil }
      if isOpen[part] {
        counts[part] = children.reduce(1) { min($0 + counts[$1], limit + 1) }
        isOpen[part] = false
        waiting.removeLast()
        continue
      }
      isOpen[part] = true
      for child in children where counts[child] == 0 {
        if isOpen[child] { return nil }
        waiting.append(child)
      }
    }
    return counts[self.top] <= limit ? counts[self.top] : nil
  }
}
