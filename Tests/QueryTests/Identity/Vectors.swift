import Foundation
import Query

/// The texts that a build wrote to disk must be found by the next one, so they are kept in a file.
struct Vector: Decodable, Sendable, CustomStringConvertible {
  let name: String
  let text: String

  var description: String { self.name }

  static var all: [Vector] {
    get throws {
      let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("vectors.json")
      return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
    }
  }
}

struct VectorQuery: Hashable {
  let page: Int?
  let name: String
  let id: Int
}

struct CodedVectorQuery: Hashable, Codable {
  let tags: Set<String>
  let id: Int
}

struct VectorBox<Value: Hashable & Sendable>: Hashable {
  let value: Value
}

enum VectorFilter: Hashable, CustomStringConvertible {
  case all
  case tag(String)
  case range(from: Int, to: Int)

  var description: String { "not to be used" }
}

/// The paths of the vectors, by name.
let vectorPaths: [String: QueryPath] = [
  "players": ["players", 3],
  "empty": [],
  "booleans": [true, false],
  "integers": [0, Int8(-1), UInt8(255), Int64.min, UInt64.max],
  "integralFloats": [1.0, -0.0, Float(-3), 1e19],
  "floats": [0.1, Float(0.1), 1e-7, 0x1p64, Double.leastNonzeroMagnitude],
  "float80": [Float80(0.5), Float80(3), Float80("0.1")!],
  "notNumbers": [Double.nan, Float.infinity, -Double.infinity],
  "optionals": [
    Optional(3) as Int?, Int?.none, Optional(Optional(4)) as Int??, [1, nil] as [Int?],
  ],
  "arrays": [[Int](), [1.0, 2.5], [[1], [2, 3]]],
  "set": [Set([2, 10, 1])],
  "dictionary": [["b": [2.0], "a": [1]] as [String: [Double]]],
  "date": [Date(timeIntervalSince1970: 1_700_000_000), Date(timeIntervalSince1970: 0.5)],
  "data": [Data([0, 1, 255]), Data()],
  "uuid": [UUID(uuidString: "e621e1f8-c36c-495a-93fc-0c247a3e6e5f")!],
  "url": [URL(string: "https://example.com/a?b=c")!],
  "relativeURL": [URL(string: "b", relativeTo: URL(string: "https://example.com/"))!],
  "controls": ["\0\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F}\u{7F}"],
  "quotes": ["\"\\/'"],
  "emoji": ["👩‍👩‍👧‍👦 e\u{301} 東京"],
  "structure": [VectorQuery(page: nil, name: "a", id: 3)],
  "coded": [CodedVectorQuery(tags: ["b", "a"], id: 3)],
  "enumeration": [VectorFilter.all, VectorFilter.tag("x"), VectorFilter.range(from: 1, to: 2)],
  "generic": [VectorBox(value: [1, nil] as [Int?])],
  "int128": [Int128(5)],
  "slice": [[1, 2][...]],
]
