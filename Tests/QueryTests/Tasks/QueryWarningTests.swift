import Foundation
import Query
import TestSupport
import Testing

@Suite struct QueryWarningTests {
  @Test func aWarningIsItsMessage() {
    let text = "interpolated"
    let warning: QueryWarning = "a \(text) warning"
    #expect(warning.message == "a interpolated warning")
    #expect(warning == QueryWarning(message: "a interpolated warning"))
    #expect(warning.hashValue == QueryWarning(message: "a interpolated warning").hashValue)
    #expect(warning != "another")
  }

  // The reporter is the whole process's, so each test has a process of its own.

  @Test func theDefaultReporterWritesToStandardError() async {
    let result = await #expect(
      processExitsWith: .success,
      observing: [\.standardErrorContent]
    ) {
      QueryWarning("text of the test").report(fileID: "Module/File.swift", line: 12)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(
      text.split(separator: "\n").contains(
        "Query warning at Module/File.swift:12: text of the test"
      )
    )
  }

  @Test func aWarningOfTheLibraryNamesNoLineOfIt() async {
    let result = await #expect(
      processExitsWith: .success,
      observing: [\.standardErrorContent]
    ) {
      let task = QueryStore.detached(query: ProbeQuery(), initialValue: nil).fetchTask()
      task.schedule(after: task)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let warnings = text.split(separator: "\n").filter { $0.hasPrefix("Query warning") }
    #expect(warnings.count == 1)
    #expect(warnings.allSatisfy { $0.hasPrefix("Query warning: ") })
  }

  @Test func aReporterGetsTheWarningAndItsPlace() async {
    await #expect(processExitsWith: .success) {
      let reported = Recorder<String>()
      QueryWarning.reporter = { warning, fileID, filePath, line, column in
        reported.append("\(warning.message) \(fileID) \(filePath) \(line) \(column)")
      }
      QueryWarning("one").report(fileID: "M/F.swift", filePath: "/p/F.swift", line: 3, column: 4)
      #expect(reported.elements == ["one M/F.swift /p/F.swift 3 4"])
    }
  }

  @Test func aPlaceIsTheCallersWhereNoneIsGiven() async {
    await #expect(processExitsWith: .success) {
      let reported = Recorder<(String, UInt)>()
      QueryWarning.reporter = { _, fileID, _, line, _ in reported.append(("\(fileID)", line)) }
      let line = Self.report("one")
      #expect(reported.elements.map(\.0) == ["QueryTests/QueryWarningTests.swift"])
      #expect(reported.elements.map(\.1) == [line])
    }
  }

  private static func report(_ warning: QueryWarning) -> UInt {
    warning.report()
    return #line - 1
  }

  @Test func aReporterMayBeReadAndReplacedInsideOne() async {
    await #expect(processExitsWith: .success) {
      let reported = Recorder<String>()
      QueryWarning.reporter = { warning, _, _, _, _ in
        #expect(isDoneElsewhere { _ = QueryWarning.reporter })
        QueryWarning.reporter = { later, _, _, _, _ in reported.append("later \(later.message)") }
        reported.append(warning.message)
      }
      QueryWarning("one").report()
      QueryWarning("two").report()
      #expect(reported.elements == ["one", "later two"])
    }
  }

  @Test func theOldReporterIsReleasedWithoutALock() async {
    await #expect(processExitsWith: .success) {
      let reported = Recorder<String>()
      Self.setReporterThatWarnsWhenReleased()
      Self.setReporter(reported)
      #expect(reported.elements == ["released"])
    }
  }

  private static func setReporterThatWarnsWhenReleased() {
    let probe = ReleaseProbe { QueryWarning("released").report() }
    QueryWarning.reporter = { _, _, _, _, _ in withExtendedLifetime(probe) {} }
  }

  private static func setReporter(_ reported: Recorder<String>) {
    QueryWarning.reporter = { warning, _, _, _, _ in reported.append(warning.message) }
  }
}
