import Foundation
import Testing

@Suite("The list of blocks")
struct SeedBlocksTests {
  @Test(
    "The list has every block of a document, once and in order",
    arguments: SeedBlock.Document.allCases
  )
  func isComplete(document: SeedBlock.Document) {
    let numbers = SeedBlock.all.filter { $0.document == document }.map(\.number)
    #expect(numbers == Array(1...document.blockCount))
  }

  @Test("Only the block that must not compile has no test")
  func untested() {
    let untested = SeedBlock.all.filter { $0.test == nil }
    #expect(untested.map(\.document) == [.paradigms])
    #expect(untested.map(\.number) == [18])
  }

  @Test("Each file and each test that the list names is there", arguments: SeedBlock.all)
  func isThere(block: SeedBlock) throws {
    let target = URL(filePath: #filePath).deletingLastPathComponent()
    let source = try String(contentsOf: target.appending(path: block.file), encoding: .utf8)
    #expect(source.contains("ocument \(block.document.rawValue)"))

    guard let test = block.test else { return }
    let parts = test.split(separator: ".")
    let tests = try String(contentsOf: target.appending(path: "\(parts[0]).swift"), encoding: .utf8)
    #expect(tests.contains("func \(parts[1])("))
  }

  @Test(
    "The documents have as many blocks as the list says, where they are at hand",
    .enabled(if: documentsFolder != nil),
    arguments: SeedBlock.Document.allCases
  )
  func isCounted(document: SeedBlock.Document) throws {
    let folder = try #require(documentsFolder)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder,
      includingPropertiesForKeys: nil
    )
    let file = try #require(
      files.first { $0.lastPathComponent.hasPrefix("\(document.rawValue)_") }
    )
    let text = try String(contentsOf: file, encoding: .utf8)
    // A quoted block begins with `> `.
    let fences = text.split(whereSeparator: \.isNewline).filter { line in
      (line.hasPrefix("> ") ? line.dropFirst(2) : line).hasPrefix("```")
    }
    #expect(fences.count == 2 * document.blockCount)
  }
}

/// The folder of the documents beside the package's, or `nil` if there is none.
private let documentsFolder: URL? = {
  var folder = URL(filePath: #filePath)
  // The file, `SeedTests`, `Tests`, and the package.
  for _ in 1...4 { folder.deleteLastPathComponent() }
  folder.append(path: "shared/seeds")
  let isThere = FileManager.default.fileExists(atPath: folder.path(percentEncoded: false))
  return isThere ? folder : nil
}()
