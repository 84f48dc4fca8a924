import Foundation

/// What the allocator of the C library has given out.
enum Allocations {
  private typealias MallocInfo =
    @convention(c) (
      CInt, UnsafeMutablePointer<FILE>
    ) -> CInt

  /// The bytes of memory that this process has, without what it allocated and freed before.
  ///
  /// - Throws: ``CheckFailure`` if the system does not report it.
  static func residentBytes() throws -> Int {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "malloc_trim") else {
      throw CheckFailure(description: "the C library has no malloc_trim")
    }
    let trim = unsafeBitCast(symbol, to: (@convention(c) (Int) -> CInt).self)
    _ = trim(0)
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
      let count = Int(kibibytes)
    else { throw CheckFailure(description: "/proc/self/status has another format") }
    return count << 10
  }

  /// The bytes that are allocated in this process, with what the allocator adds to each block.
  ///
  /// - Throws: ``CheckFailure`` if the C library does not report it.
  static func bytesInUse() throws -> Int {
    let report = try self.report()
    // Totals come after those of each arena. A thread's cache counts as in use; it is some
    // kilobytes at most.
    guard
      let system = self.last("<system type=\"current\"", in: report),
      let fast = self.last("<total type=\"fast\"", in: report),
      let rest = self.last("<total type=\"rest\"", in: report),
      let mapped = self.last("<total type=\"mmap\"", in: report)
    else { throw CheckFailure(description: "malloc_info has another format") }
    return system - fast - rest + mapped
  }

  private static func report() throws -> String {
    // Swift's module of the C library leaves malloc.h out.
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "malloc_info") else {
      throw CheckFailure(description: "the C library has no malloc_info")
    }
    let mallocInfo = unsafeBitCast(symbol, to: MallocInfo.self)
    var buffer: UnsafeMutablePointer<CChar>?
    var size = 0
    guard let stream = open_memstream(&buffer, &size) else {
      throw CheckFailure(description: "no memory for the report of malloc_info")
    }
    let status = mallocInfo(0, stream)
    fclose(stream)
    defer { free(buffer) }
    guard status == 0, let buffer else {
      throw CheckFailure(description: "malloc_info failed")
    }
    return String(cString: buffer)
  }

  private static func last(_ element: String, in report: String) -> Int? {
    guard
      let line = report.split(separator: "\n").last(where: { $0.hasPrefix(element) }),
      let start = line.range(of: "size=\"")?.upperBound
    else { return nil }
    return Int(line[start...].prefix { $0 != "\"" })
  }
}
