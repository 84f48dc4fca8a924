import Foundation

/// Measures the rows of the performance table, each beside its floor.
@main
struct CacheBench {
  static func main() async {
    do {
      switch try Command(arguments: Array(CommandLine.arguments.dropFirst())) {
      case .help: print(Command.helpText)
      case .list(let filter): for row in try rows(matching: filter, .full) { print(row.name) }
      case .child(let child): try child.run()
      case .worker(let worker): try await worker.run()
      case .tool(let name, let arguments): try ToolRun.measure(name, arguments)
      case .measure(let options):
        let rows = try rows(matching: options.filter, options.scale)
        // The main thread's executor is many times slower to come back to than the shared one.
        let report = await Task.detached { await Report(measuring: rows, options.scale) }.value
        if let file = options.jsonFile { try write(report, to: file) }
        Scratch.remove()
        if !report.isMet { exit(1) }
      }
    } catch let error as UsageError {
      fail(error.description, status: 64)
    } catch {
      fail("\(error)", status: 70)
    }
  }

  private static func write(_ report: Report, to file: String) throws {
    do {
      try report.write(to: file)
    } catch let error as CocoaError {
      fail("cannot write \(file): \(error.localizedDescription)", status: 74)
    }
  }

  private static func rows(matching filter: String?, _ scale: Scale) throws -> [Row] {
    let all = RowGroup.all(entries: scale.entries).flatMap(\.rows)
    guard let filter else { return all }
    let parts = filter.split(separator: ",", omittingEmptySubsequences: false)
    for part in parts where !all.contains(where: { $0.name.contains(part) }) {
      throw UsageError("no row's name contains '\(part)'; --list names all")
    }
    return all.filter { row in parts.contains { row.name.contains($0) } }
  }

  private static func fail(_ message: String, status: Int32) -> Never {
    Scratch.remove()
    FileHandle.standardError.write(Data("cache-bench: \(message)\n".utf8))
    exit(status)
  }
}
