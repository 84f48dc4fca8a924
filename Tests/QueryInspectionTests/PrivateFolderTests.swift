import Foundation
import TestSupport
import Testing

@testable import QueryInspection

/// The tools read a copy of files that no application has open.
@Suite struct PrivateFolderTests {
  @Test func aFileIsCopiedForThisUserAlone() throws {
    let scratch = try ScratchFolder()
    let data = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0) })
    let source = try scratch.file("source", data).path
    var folder: PrivateFolder? = try PrivateFolder()
    let path = try #require(folder).path
    try folder?.add(source, as: "copy")
    #expect(try Data(contentsOf: URL(filePath: "\(path)/copy")) == data)
    #expect(throws: (any Error).self) { try folder?.add(source, as: "copy") }
    for (name, mode) in [("", 0o700), ("/copy", 0o600)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path + name)
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
    folder = nil
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// As a service may run a tool: the first file that it opens has the descriptor 0.
  @Test func aProgramWithoutAStandardInputCopiesToo() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchFolder()
      let source = try scratch.file("source", Data("text".utf8)).path
      let folder = try PrivateFolder()
      close(STDIN_FILENO)
      try folder.add(source, as: "copy")
      #expect(try Data(contentsOf: URL(filePath: "\(folder.path)/copy")) == Data("text".utf8))
    }
  }
}
