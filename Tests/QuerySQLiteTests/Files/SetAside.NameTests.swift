import Foundation
import Testing

@testable import QuerySQLite

@Suite struct SetAsideNameTests {
  private static let date = Date(timeIntervalSince1970: 1_769_860_800.9)

  @Test func aNameTellsWhyAndWhen() {
    var name = SetAside.Name(reason: .corrupt, date: Self.date)
    #expect(name.fileName(of: .cache) == "cache.sqlite.corrupt-20260131T120000Z")
    name.number = 2
    #expect(name.fileName(of: .mutations) == "mutations.sqlite.corrupt-20260131T120000Z-2")
    let newer = SetAside.Name(reason: .newer(level: 12), date: .init(timeIntervalSince1970: 0))
    #expect(newer.fileName(of: .cache) == "cache.sqlite.level-12-19700101T000000Z")
  }

  @Test(arguments: [SetAside.Reason.corrupt, .newer(level: 0), .newer(level: 31)])
  func aNameIsReadAsItWasWrittenWithEveryCompanion(_ reason: SetAside.Reason) {
    for number in [1, 2, 10] {
      var name = SetAside.Name(reason: reason, date: Self.date)
      name.number = number
      for suffix in ["", "-wal", "-shm", "-journal", "-wal.part", "-journal.part"] {
        let fileName = name.fileName(of: .cache) + suffix
        #expect(SetAside.Name(fileName: fileName, of: .cache) == name)
        #expect(SetAside.Name(fileName: fileName, of: .mutations) == nil)
      }
    }
  }

  @Test(arguments: [
    "cache.sqlite", "cache.sqlite-wal", "cache.sqlite.corrupt", "cache.sqlite.corrupt-",
    "cache.sqlite.corrupt-copy", "cache.sqlite.corrupt-20260131", "cache.sqlite.corrupt-wal",
    "cache.sqlite.corrupt-20260131T120000Z-", "cache.sqlite.corrupt-20260131T120000Z-1",
    "cache.sqlite.corrupt-20260131T120000Z-02", "cache.sqlite.corrupt-20260131T120000Z-2-3",
    "cache.sqlite.corrupt-20260131T120000Z.gz", "cache.sqlite.corrupt-2026013١T120000Z",
    "cache.sqlite.level-20260131T120000Z", "cache.sqlite.level--1-20260131T120000Z",
    "cache.sqlite.level-x-20260131T120000Z", "cache.sqlite.part-20260131T120000Z", "",
  ])
  func othersFilesHaveNone(_ fileName: String) {
    #expect(SetAside.Name(fileName: fileName, of: .cache) == nil)
  }

  @Test func namesAreSortedByTheirDateAndNumber() {
    let names = [
      "cache.sqlite.corrupt-20260131T120000Z", "cache.sqlite.corrupt-20260131T120000Z-2",
      "cache.sqlite.corrupt-20260131T120000Z-10", "cache.sqlite.corrupt-20260131T120001Z",
    ]
    let sorted = names.reversed().compactMap { SetAside.Name(fileName: $0, of: .cache) }.sorted()
    #expect(sorted.map { $0.fileName(of: .cache) } == names)
  }
}
