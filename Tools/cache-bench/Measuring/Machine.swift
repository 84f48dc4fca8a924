import Foundation

/// What the figures were measured on.
struct Machine: Encodable, Equatable, Sendable {
  /// As the processor calls itself; nil: it does not.
  var processor: String?
  /// How many of its processors are there for this process.
  var processors: Int
  var memoryBytes: UInt64
  /// The distribution and its version.
  var system: String?
  /// The release of the kernel.
  var kernel: String

  static func current() -> Self {
    let info = ProcessInfo.processInfo
    return Self(
      processor: Self.value(of: "model name", separator: ":", in: "/proc/cpuinfo"),
      processors: info.activeProcessorCount,
      memoryBytes: info.physicalMemory,
      system: Self.value(of: "PRETTY_NAME", separator: "=", in: "/etc/os-release"),
      kernel: Self.kernelRelease())
  }

  /// The value in the first line of a file that gives one to a key, without its quotation marks.
  static func value(of key: String, separator: Character, in file: String) -> String? {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: separator, maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      if parts.count == 2, parts[0] == key {
        return parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
      }
    }
    return nil
  }

  private static func kernelRelease() -> String {
    var names = utsname()
    uname(&names)
    return withUnsafeBytes(of: names.release) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  // By hand, so that every key is there.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(self.processor, forKey: .processor)
    try container.encode(self.processors, forKey: .processors)
    try container.encode(self.memoryBytes, forKey: .memoryBytes)
    try container.encode(self.system, forKey: .system)
    try container.encode(self.kernel, forKey: .kernel)
  }

  private enum CodingKeys: CodingKey {
    case processor, processors, memoryBytes, system, kernel
  }
}
