import Query
import Testing

@Suite struct StorageErrorCodeTests {
  private let error = StorageError(
    operation: "read", code: StorageError.Code(rawValue: 266), message: "disk I/O error")

  @Test func thePrimaryCodeIsTheLowerByte() {
    #expect(self.error.code == .inputOutput)
    #expect(self.error.extendedCode.rawValue == 266)
    #expect(StorageError.Code.busySnapshot.primary == .busy)
  }

  @Test func aPrimaryCodeCatchesItsExtendedOnes() {
    var caught = [String]()
    for code: StorageError.Code in [.inputOutput, .full] {
      do { throw self.error } catch code { caught.append("\(code)") } catch {}
    }
    #expect(caught == ["SQLite 10"])
  }

  @Test func anExtendedCodeCatchesItselfAlone() {
    #expect(StorageError.Code(rawValue: 266) ~= self.error)
    #expect(!(StorageError.Code(rawValue: 522) ~= self.error))
    let primary = StorageError(operation: "read", code: .inputOutput, message: "")
    #expect(!(StorageError.Code(rawValue: 266) ~= primary))
  }

  @Test func anotherErrorIsNotCaught() {
    #expect(!(StorageError.Code.inputOutput ~= CancellationError()))
  }
}
