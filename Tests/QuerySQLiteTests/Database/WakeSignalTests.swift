import Foundation
import Glibc
import Query
import StorageTestSupport
import Testing

@testable import QuerySQLite

/// The wake-up of the writing thread if the process has no room for its signal.
@Suite struct WakeSignalTests {
  @Test func withoutADescriptorAStorageIsRefusedAndTheProcessGoesOn() async throws {
    let folder = try TemporaryFolder()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      var taken = [Int32]()
      while true {
        let descriptor = dup(2)
        if descriptor < 0 { break }
        taken.append(descriptor)
      }
      do {
        _ = try SQLiteQueryStorage(directory: URL(filePath: path))
        exit(1)
      } catch let error as StorageError {
        exit(error.code == .cannotOpen ? 0 : 2)
      } catch {
        exit(3)
      }
    }
  }
}
