import Foundation
import TestSupport
import Testing

/// `Tools/check-layers`, over a module of three folders.
@Suite(.enabled(if: ChildProcess.system("bash") != nil, "there is no bash"))
final class CheckLayersTests {
  private let module: URL

  init() throws {
    self.module = FileManager.default.temporaryDirectory
      .appending(path: "layers-\(UUID().uuidString)")
    try self.write(".layers", "Low  # the ground\nMiddle Beside\nHigh\n")
    try self.write("Low/Ground.swift", "struct Ground {\n  struct Nested {}\n}\n")
    try self.write("Middle/Floor.swift", "protocol Floor { var ground: Ground { get } }\n")
    try self.write("Beside/Hall.swift", "struct Hall: Floor {}\n")
    try self.write("High/Deep/Roof.swift", "public final class Roof {\n  var hall: Hall\n}\n")
  }

  deinit { try? FileManager.default.removeItem(at: self.module) }

  private func write(_ name: String, _ text: String) throws {
    let url = self.module.appending(path: name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private func run(_ options: String...) async throws -> (end: ChildProcess.End, lines: [String]) {
    var root = URL(filePath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let child = try ChildProcess(
      try #require(ChildProcess.system("bash")),
      [root.appending(path: "Tools/check-layers").path] + options + [self.module.path],
      errors: .pipe)
    var lines = [String]()
    for await line in child.lines {
      lines.append(line.replacingOccurrences(of: self.module.path + "/", with: ""))
    }
    for await _ in child.errorLines {}
    return (await child.end(), lines)
  }

  @Test func layersThatStandOnLowerOnesAreNoBreach() async throws {
    try self.write("Middle/Stair.swift", "struct Stair { let hall: Hall }\n")
    let run = try await self.run()
    #expect(run.lines == [])
    #expect(run.end == .code(0))
  }

  @Test(arguments: [
    "let roof: Roof?", "extension Roof {}", "func build() -> [Roof] { [] }", "typealias Top = Roof",
  ])
  func aTypeOfAHigherLayerIsABreach(_ line: String) async throws {
    try self.write("Low/Ground.swift", "struct Ground {}\n\n\(line)\n")
    let run = try await self.run()
    #expect(run.lines == ["Low/Ground.swift:3: Roof is of High, a layer above Low"])
    #expect(run.end == .code(1))
  }

  @Test(arguments: [
    "/// As a ``Roof``.", "let name = \"Roof\"", "let text = \"\"\"\n  a Roof\n  \"\"\"",
    "let member = Ground.Roof.self", "private struct Roof {}\nlet own: Roof?",
  ])
  func commentsStringsMembersAndAFilesOwnTypesAreNone(_ line: String) async throws {
    try self.write("Low/Ground.swift", "struct Ground {}\n\n\(line)\n")
    #expect(try await self.run().lines == [])
  }

  @Test func aNestedTypeIsNoTypeOfItsFolder() async throws {
    try self.write("High/Deep/Roof.swift", "struct Roof {\n  struct Tile {}\n}\n")
    try self.write("Low/Floor.swift", "struct Tiled<Tile> { let tile: Tile }\n")
    #expect(try await self.run().lines == [])
  }

  @Test func anExceptionHoldsForItsFileAndTypeAsLongAsItIsNeeded() async throws {
    try self.write("Low/Ground.swift", "struct Ground { weak var roof: Roof? }\n")
    let layers = "Low\nMiddle Beside\nHigh\nexcept Low/Ground.swift Roof  # the reason\n"
    try self.write(".layers", layers)
    #expect(try await self.run().lines == [])
    try self.write("Low/Ground.swift", "struct Ground {}\n")
    let run = try await self.run()
    #expect(run.lines == [".layers:4: Low/Ground.swift does not need the exception for Roof"])
    #expect(run.end == .code(1))
  }

  @Test func aFolderHasALayerAndALayerItsFolders() async throws {
    try self.write(".layers", "Low\nMiddle Beside\nLofty\n")
    let run = try await self.run()
    #expect(
      run.lines == [
        "High/Deep/Roof.swift:1: the folder High is in no layer of .layers",
        ".layers:3: there is no folder Lofty",
      ])
    #expect(run.end == .code(1))
  }

  @Test func aCircleIsFoundOverAnyNumberOfFolders() async throws {
    #expect(try await self.run("--circles").lines == [])
    try self.write("Low/Ground.swift", "struct Ground { weak var roof: Roof? }\n")
    let run = try await self.run("--circles")
    #expect(run.lines == ["4: Beside High Low Middle"])
    #expect(run.end == .code(0))
  }

  @Test func aWrongCommandLineEndsWith64() async throws {
    #expect(try await self.run("--nothing").end == .code(64))
    try FileManager.default.removeItem(at: self.module.appending(path: ".layers"))
    #expect(try await self.run().end == .code(64))
  }
}
