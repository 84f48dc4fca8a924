import Foundation

/// Lets several processes work on one store, disturbs them, and holds what they were told against what
/// is there. `Tools/torture` builds and starts it; it starts its own workers.
///
/// ```
/// torture [--minutes N] [--seed S] [--mode calm|stop|kill|mixed] [--folder DIR] [--processes N] [--keep]
/// torture worker ORDER
/// torture audit FOLDER WRITERS
/// ```
@main
struct Torture {
  /// On the main thread: the kernel ends workers with the thread that has started them.
  @MainActor static func main() async {
    do {
      exit(try await self.run(Array(CommandLine.arguments.dropFirst())))
    } catch let error as BenchOptions.UsageError {
      self.say("\(error); see Tools/torture --help")
      exit(64)
    } catch {
      self.say("\(error)")
      exit(70)
    }
  }

  @MainActor private static func run(_ arguments: [String]) async throws -> Int32 {
    switch arguments.first {
    case "worker" where arguments.count == 2:
      try await Worker.run(
        try JSONDecoder().decode(WorkerOrder.self, from: Data(arguments[1].utf8)))
      return 0
    case "audit" where arguments.count == 3:
      try await Audit(of: arguments[1], writers: Int(arguments[2]) ?? 0).run()
      return 0
    default:
      let options = try BenchOptions(arguments)
      EndSignal.block()
      var bench = try Bench(options)
      return try bench.run()
    }
  }

  private static func say(_ text: String) {
    FileHandle.standardError.write(Data("torture: \(text)\n".utf8))
  }
}
