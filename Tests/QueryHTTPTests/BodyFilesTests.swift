import Foundation
import TestSupport
import Testing

@testable import QueryHTTP

@Suite struct BodyFilesTests {
  private let folder: ScratchFolder
  private let source: ScratchFolder
  private var files: BodyFiles { BodyFiles(folder: self.folder.url) }

  init() throws {
    self.folder = try ScratchFolder()
    self.source = try ScratchFolder()
  }

  @Test(arguments: [0, 1, 128 << 10, 300_001])
  func copyHasTheBytesAndOutlivesTheFile(_ count: Int) throws {
    let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let file = try self.source.file("photo", data)
    let copy = try self.files.adopt(file)
    try FileManager.default.removeItem(at: file)
    #expect(copy.byteCount == count)
    #expect(self.folder.names == [copy.name])
    let url = try self.files.check(copy)
    #expect(try Data(contentsOf: url) == data)
    let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func changedCopyIsNotSent() throws {
    let copy = try self.files.adopt(try self.source.file("photo", Data("hello".utf8)))
    for other in ["hellp", "hell", "hello!", ""] {
      _ = try self.folder.file(copy.name, Data(other.utf8))
      #expect(throws: HTTPRequestError.fileDamaged(name: copy.name)) { try self.files.check(copy) }
    }
    try FileManager.default.removeItem(at: self.folder.url.appending(path: copy.name))
    #expect(throws: HTTPRequestError.fileDamaged(name: copy.name)) { try self.files.check(copy) }
  }

  @Test func whatIsNoFileIsRefused() throws {
    let missing = self.source.url.appending(path: "missing")
    for url in [missing, self.source.url, URL(filePath: "/dev/null")] {
      #expect(throws: HTTPRequestError.notAFile(path: url.path)) { try self.files.adopt(url) }
    }
    #expect(self.folder.names == [])
  }

  @Test func failedCopyLeavesNothing() throws {
    let nowhere = BodyFiles(folder: self.folder.url.appending(path: "missing"))
    let file = try self.source.file("photo", Data("hello".utf8))
    #expect(throws: POSIXError.self) { try nowhere.adopt(file) }
  }
}
