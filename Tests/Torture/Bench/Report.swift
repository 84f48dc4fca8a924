import Foundation

/// Writes a line to the standard output, at once, also into a file or a pipe.
func report(_ line: String) {
  try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
}
