import Foundation
import TestSupport
import Testing

@testable import Query

@Suite struct TemporaryBodiesTests {
  @Test func theFolderGoesWithTheStorage() async throws {
    let source = try ScratchFolder()
    let file = try source.file("photo", Data("hello".utf8))
    var bodies: TemporaryBodies? = TemporaryBodies()
    let folder = try #require(bodies?.folder)
    #expect(!FileManager.default.fileExists(atPath: folder.path))
    let copies = try await folder.copy([file, file])
    #expect(folder.names.count == 2)
    let urls = try await folder.check(copies.names)
    #expect(try urls.map { try Data(contentsOf: $0) } == [Data("hello".utf8), Data("hello".utf8)])
    bodies = nil
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test(arguments: ["", ".", "..", "../a", "a/b", "a\0"])
  func nothingOutsideOfTheFolderIsRemoved(_ name: String) throws {
    let source = try ScratchFolder()
    _ = try source.file("a", Data())
    let path = source.url.appending(path: "bodies").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let folder = BodyFolder(path: path, make: {}, makeHash: { FNV1a() })
    folder.remove(name)
    folder.removeIfLeft(name) { false }
    #expect(source.names == ["a", "bodies"])
  }
}
