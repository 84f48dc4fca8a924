// `stat` is of either, by what the compiler has read before.
import CSQLite
import FoundationEssentials
import Glibc

/// The parts of a path, as texts: `NSString` would bring all of Foundation and ICU's tables with it.
enum FilePath {
  /// The last component: `mutations.sqlite` of `/var/lib/notes/mutations.sqlite`, `notes` of `/var/lib/notes/`;
  /// the path itself if it has no other.
  static func name(of path: String) -> String {
    let bytes = Self.withoutSlashes(path.utf8[...])
    guard !bytes.isEmpty else { return path.isEmpty ? "" : "/" }
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) }
    return String(bytes[(start ?? bytes.startIndex)...]) ?? path
  }

  /// The path without its last component, and without the slashes before that: `/var/lib` of
  /// `/var/lib/notes`, `/` of `/var`; empty if there is no folder in it.
  static func folder(of path: String) -> String {
    let bytes = Self.withoutSlashes(path.utf8[...])
    guard !bytes.isEmpty else { return path.isEmpty ? "" : "/" }
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    let folder = Self.withoutSlashes(bytes[..<slash])
    return folder.isEmpty ? "/" : String(folder) ?? path
  }

  /// The path without symbolic links; of what does not exist, as far as its folders do.
  static func resolved(_ path: String) -> String {
    // URL's own way costs a launch as much as a read of the file.
    if let resolved = self.existing(path) { return resolved }
    let name = self.name(of: path)
    // A file that is not there yet, or a link that leads nowhere.
    if name != ".", name != "..", let folder = self.existing(self.folder(of: path)) {
      return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
    }
    return URL(filePath: path).resolvingSymlinksInPath().path
  }

  /// Whether a symbolic link is at the path, wherever it leads.
  static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// The path without symbolic links; nil: there is nothing.
  private static func existing(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func withoutSlashes(_ path: Substring.UTF8View) -> Substring.UTF8View {
    var path = path
    while path.last == UInt8(ascii: "/") { path.removeLast() }
    return path
  }
}
