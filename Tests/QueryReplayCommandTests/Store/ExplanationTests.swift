import Foundation
import Query
import Testing
import ToolSupport

@testable import QueryReplayCommand

struct ExplanationTests {
  @Test(arguments: [
    (StorageError.Code.misuse, ExitCode.usage), (.corrupt, .badData), (.notADatabase, .badData),
    (.schema, .badData), (.full, .inputOutput), (.inputOutput, .inputOutput),
    (.permission, .inputOutput), (.readOnly, .inputOutput), (.busy, .inputOutput),
    (.cannotOpen, .inputOutput),
  ])
  func aStorageThatFailsHasItsCode(_ code: StorageError.Code, _ exit: ExitCode) {
    let error = StorageError(operation: "open", code: code, message: "no")
    #expect(Explanation.of(error)?.code == exit)
  }

  @Test func whatAnOutboxRefusesIsAWrongCommand() throws {
    let error = try #require(Explanation.of(OutboxError.notDead(UUID())))
    #expect(error.code == .usage)
    #expect(error.message.hasSuffix("is not dead; cancel it"))
    #expect(Explanation.of(CancellationError()) == nil)
  }
}
