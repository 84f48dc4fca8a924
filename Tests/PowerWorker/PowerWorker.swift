import CFileRecorder
import Foundation
import Query
import QuerySQLite

/// A process whose power a test cuts off: it records what the shipped parts do to their files, or is
/// killed in the middle of it, and says what the next launch finds in what that has left.
///
/// ```
/// power-worker prepare WORKLOAD FOLDER RECORD
///   makes what is there before, and records it
/// power-worker act WORKLOAD FOLDER RECORD NTH
///   does what is to be survived, and is killed before the NTH call that is recorded; 0: never.
///   Says how many there were
/// power-worker open
///   a line each on standard input: STORE VALUES EXPORT|- ACCOUNT...; says what is found in it
/// ```
@main
struct PowerWorker {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "prepare": try await Self.run(arguments) { try await $0.prepare($1) }
    case "act":
      try await Self.run(arguments) { workload, place in
        Account.mark("begin")
        file_recorder_kill_before(Int(arguments[4]) ?? 0)
        try await workload.act(place)
        Account.mark("end")
        Opening.say("\(file_recorder_count())")
      }
    case "open": await Self.open()
    default: exit(64)
    }
  }

  private static func run(
    _ arguments: [String], _ body: (Workload, Place) async throws -> Void
  ) async throws {
    guard let workload = Workload(rawValue: arguments[1]),
      file_recorder_start(arguments[2], arguments[3]) == 0
    else { exit(64) }
    try await body(workload, Place(folder: arguments[2]))
  }

  private static func open() async {
    // A launch that hangs ends the process.
    let patience: UInt32 = 120
    while let line = readLine() {
      let fields = line.split(separator: " ").map(String.init)
      alarm(patience)
      await Opening(
        store: fields[0], accounts: Array(fields[3...]), valueCount: Int(fields[1]) ?? 0,
        export: fields[2] == "-" ? nil : fields[2]
      ).run()
      alarm(0)
    }
  }
}
