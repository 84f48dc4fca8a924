import Query
import Testing

@Suite struct StorageErrorTests {
  @Test func theDescriptionNamesOperationFileReasonAndStatement() {
    let error = StorageError(
      operation: "step", code: StorageError.Code(rawValue: 2_067),
      message: "UNIQUE constraint failed", sql: "INSERT INTO a VALUES (?)",
      fileName: "cache.sqlite")
    #expect(
      "\(error)"
        == "step cache.sqlite failed, UNIQUE constraint failed (SQLite 19, extended 2067): "
        + "INSERT INTO a VALUES (?)")
  }

  @Test func theDescriptionSaysWhatToDoUnlessTheMessageDoes() {
    let full = StorageError(operation: "commit", code: .full, message: "the disk is full")
    #expect("\(full)" == "commit failed, the disk is full; free some space on it (SQLite 13)")
    let told = StorageError(
      operation: "open", code: .corrupt, message: "it is damaged; start again")
    #expect("\(told)" == "open failed, it is damaged; start again (SQLite 11)")
  }

  @Test func whatIsNotKnownIsLeftOut() {
    let error = StorageError(operation: "enqueue", code: .misuse, message: "no storage")
    #expect("\(error)" == "enqueue failed, no storage (SQLite 21)")
    #expect(error.sql == nil)
    #expect(error.expandedSQL == nil)
    #expect(error.fileName == nil)
  }
}
