import Foundation
import TestSupport
import Testing

@testable import QueryHTTP

@Suite struct TransferBodyTests {
  private static let data = Data((0..<4_097).map { UInt8(truncatingIfNeeded: $0) })

  private static func read(_ body: TransferBody, _ size: Int) -> Data? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      let count = buffer.withUnsafeMutableBytes { body.read(at: Int64(data.count), into: $0) }
      guard let count else { return nil }
      if count == 0 { return data }
      data += buffer[..<count]
    }
  }

  /// Also if a single byte is left for the last piece.
  @Test(arguments: [0, 1, 2, 4_096, 4_097])
  func aFileIsReadToItsLastByte(_ count: Int) throws {
    let folder = try ScratchFolder()
    let data = Self.data.prefix(count)
    let file = try folder.file("body", data)
    for size in [1, 4_096, 10_000] {
      let body = try #require(try TransferBody(nil, file: file))
      #expect(body.size == count)
      #expect(Self.read(body, size) == data)
    }
  }

  /// Its bytes need not begin at 0.
  @Test func dataIsReadToItsLastByte() throws {
    let body = try #require(try TransferBody(Self.data.dropFirst(4_000), file: nil))
    for size in [1, 96, 1_000] { #expect(Self.read(body, size) == Self.data.suffix(97)) }
  }

  /// Why a file cannot be sent.
  private static func code(_ url: URL) -> URLError.Code? {
    // What an earlier call has failed for says nothing of this one.
    errno = ENOENT
    do {
      _ = try TransferBody(nil, file: url)
      return nil
    } catch {
      return (error as? URLError)?.code
    }
  }

  /// Its descriptor is 0.
  @Test func withoutAStandardInputAFolderIsNotOneThatIsMissing() async {
    await #expect(processExitsWith: .success) {
      let folder = try ScratchFolder()
      let missing = folder.url.appending(path: "missing")
      let file = try folder.file("body", Self.data)
      let codes = [missing, folder.url, file].map { Self.code($0) }
      close(STDIN_FILENO)
      #expect([missing, folder.url, file].map { Self.code($0) } == codes)
      #expect(codes == [.fileDoesNotExist, .cannotOpenFile, nil])
    }
  }
}
