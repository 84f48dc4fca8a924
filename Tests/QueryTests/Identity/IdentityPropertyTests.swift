import Foundation
import Testing

@testable import Query

/// Random paths, from a seed that a failure names.
@Suite("Identities of random paths")
struct IdentityPropertyTests {
  @Test("Two paths have equal identities where they are equal, and only there")
  func equality() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = RandomPaths(seed: seed)
    var texts = [QueryPath: String]()
    var paths = [String: QueryPath]()
    for _ in 0..<20_000 {
      let path = random.path()
      let text = try QueryIdentity(path: path).text
      #expect((texts[path] ?? text) == text, "seed \(seed): \(path)")
      #expect((paths[text] ?? path) == path, "seed \(seed): \(text)")
      texts[path] = text
      paths[text] = path
    }
    #expect(texts.count > 1_000, "seed \(seed)")
    #expect(texts.count < 20_000, "seed \(seed): no path came twice")
  }

  @Test("The text is JSON that says the path's length")
  func json() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = RandomPaths(seed: seed)
    for _ in 0..<2_000 {
      let path = random.path()
      let text = try QueryIdentity(path: path).text
      let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
      #expect((json as? [Any])?.count == path.count, "seed \(seed): \(text)")
    }
  }
}

/// Small worlds, so that equal values of different types meet.
private struct RandomPaths {
  private var state: UInt64

  init(seed: UInt64) { self.state = seed }

  private mutating func next(_ bound: Int) -> Int {
    // SplitMix64.
    self.state &+= 0x9E37_79B9_7F4A_7C15
    var value = self.state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((value ^ (value >> 31)) % UInt64(bound))
  }

  mutating func path() -> QueryPath {
    QueryPath((0..<self.next(3)).map { _ in self.value() })
  }

  private mutating func integer() -> Int { self.next(4) - 1 }

  private mutating func double() -> Double {
    [0, -0.0, 0.5, 0.1, Double(Float(0.1)), 1, 2, 0x1p63, 0x1p64, -0x1p63, 1e300][self.next(11)]
  }

  private mutating func string() -> String {
    let parts = ["a", "1", "\"", "\\", "\0", "e\u{301}", "\u{E9}", "e", "\u{301}", "😀", "\n", ","]
    return (0..<self.next(3)).map { _ in parts[self.next(parts.count)] }.joined()
  }

  private mutating func value() -> any Hashable & Sendable {
    switch self.next(25) {
    case 0: self.integer()
    case 1: Int8(self.integer())
    case 2: UInt64(self.next(3)) &* 0x8000_0000_0000_0000
    case 3: self.double()
    case 4: Float(self.double())
    case 5: Float80(self.double())
    case 6: self.string()
    case 7: self.next(2) == 0
    case 8: Optional(self.integer()) as Int?
    case 9: Optional(self.double()) as Double?
    case 10: [self.integer(), self.integer()]
    case 11: [self.double()]
    case 12: [self.string()]
    case 13: Set([self.integer(), self.integer()])
    case 14: Set([self.double(), self.double()])
    case 15: [self.integer(): self.string()]
    case 16: [self.double(): [self.string()], 7: []]
    case 17: Date(timeIntervalSince1970: Double(self.integer()))
    case 18: Data([UInt8(self.next(3))])
    case 19: UUID(uuid: (UInt8(self.next(2)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    case 20: Int128(self.integer())
    case 21: VectorQuery(page: nil, name: self.string(), id: self.integer())
    case 22: CodedVectorQuery(tags: [self.string(), self.string()], id: self.integer())
    case 23: VectorBox(value: self.double())
    default: self.filter()
    }
  }

  private mutating func filter() -> VectorFilter {
    switch self.next(3) {
    case 0: .all
    case 1: .tag(self.string())
    default: .range(from: self.integer(), to: self.integer())
    }
  }
}
