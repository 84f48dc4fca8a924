package import FoundationEssentials
import Glibc
package import Query

/// The folders of a storage's two files. Nothing here creates them.
///
/// ```swift
/// let locations = try StorageLocations(applicationID: "org.example.notes")
/// let opener = DatabaseOpener(kind: .cache, folder: locations.folder(of: .cache))
/// ```
package struct StorageLocations: Hashable, Sendable {
  private let cacheFolder: String
  private let dataFolder: String

  /// The absolute path of the folder of a file, without a trailing slash.
  package func folder(of kind: DatabaseKind) -> String {
    switch kind {
    case .cache: self.cacheFolder
    case .mutations: self.dataFolder
    }
  }
}

// MARK: - By application

extension StorageLocations {
  /// Finds an application's folders by the XDG Base Directory Specification: one below
  /// `$XDG_CACHE_HOME`, by default `~/.cache`, and one below `$XDG_DATA_HOME`, by default
  /// `~/.local/share`. A variable that is empty or relative counts as unset.
  ///
  /// - Parameters:
  ///   - applicationID: The name of both folders, as `org.example.notes`.
  ///   - environment: The environment variables of the process.
  ///   - passwdHome: The user's home from the system's user database, read if `$HOME` is unset.
  /// - Throws: `StorageError`: misuse if the identifier is not a plain file name, and cannot open
  ///   if the user has no home.
  package init(
    applicationID: String,
    environment: [String: String] = ProcessInfo.processInfo.environment,
    passwdHome: () -> String? = StorageLocations.passwdHome
  ) throws(StorageError) {
    if let fault = Self.fault(of: applicationID) {
      throw StorageError(
        operation: "locate", code: .misuse,
        message: """
          the application identifier is the name of a folder, as in "org.example.notes", and this \
          one \(fault)
          """)
    }
    let home = Self.absolute(environment["HOME"])
    func folder(_ variable: String, below base: String) throws(StorageError) -> String {
      if let folder = Self.absolute(environment[variable]) { return folder }
      if let home = home ?? Self.absolute(passwdHome()) { return "\(home)/\(base)" }
      throw StorageError(
        operation: "locate", code: .cannotOpen,
        message: "the user has no home folder; set HOME or \(variable) to an absolute path")
    }
    self.cacheFolder = try folder("XDG_CACHE_HOME", below: ".cache") + "/\(applicationID)"
    self.dataFolder = try folder("XDG_DATA_HOME", below: ".local/share") + "/\(applicationID)"
  }

  /// The reason why an identifier is not a plain file name; nil if it is one.
  private static func fault(of applicationID: String) -> String? {
    switch applicationID {
    case "": return "is empty"
    case ".", "..": return "is \"\(applicationID)\""
    default: break
    }
    if applicationID.utf8.contains(UInt8(ascii: "/")) { return "contains a slash" }
    if applicationID.utf8.contains(0) { return "contains a NUL" }
    let count = applicationID.utf8.count
    return count > 255 ? "has \(count) bytes, more than the 255 of a file name" : nil
  }

  /// A path without trailing slashes, which makes `/` empty; nil if it is not absolute.
  private static func absolute(_ path: String?) -> String? {
    guard let path, path.utf8.first == UInt8(ascii: "/") else { return nil }
    return Self.withoutSlashesAtEnd(path)
  }

  private static func withoutSlashesAtEnd(_ path: String) -> String {
    var path = path[...]
    while path.utf8.last == UInt8(ascii: "/") { path.unicodeScalars.removeLast() }
    return String(path)
  }

  /// The home of the user who runs this process, from the system's user database.
  static func passwdHome() -> String? {
    var size = 1 << 10
    while size <= 1 << 20 {
      var buffer = [CChar](repeating: 0, count: size)
      let (result, home) = buffer.withUnsafeMutableBufferPointer { buffer -> (Int32, String?) in
        guard let base = buffer.baseAddress else { return (EINVAL, nil) }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        let result = getpwuid_r(getuid(), &entry, base, buffer.count, &found)
        guard result == 0, found != nil, let home = entry.pw_dir else { return (result, nil) }
        // It points into the buffer.
        return (result, String(cString: home))
      }
      guard result == ERANGE else { return home }
      size *= 4
    }
    return nil
  }
}

extension StorageLocations {
  /// The identifiers of the applications that have a file of a storage, sorted.
  ///
  /// - Parameter environment: The environment variables of the process.
  package static func applications(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> [String] {
    guard let model = try? Self(applicationID: "x", environment: environment) else { return [] }
    var found = Set<String>()
    for kind in DatabaseKind.allCases {
      let folder = FilePath.folder(of: model.folder(of: kind))
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      for name in names where access("\(folder)/\(name)/\(kind.fileName)", F_OK) == 0 {
        found.insert(name)
      }
    }
    return found.sorted()
  }
}

// MARK: - By folder

extension StorageLocations {
  /// Puts both files in one folder.
  ///
  /// - Parameter directory: The folder, a file URL. A relative one is resolved against the working
  ///   folder.
  /// - Throws: `StorageError` (misuse) if it is not the URL of a local file.
  package init(directory: URL) throws(StorageError) {
    let host = directory.host(percentEncoded: false) ?? ""
    // Decoding costs a launch a tenth of a millisecond, and most often there is nothing to decode.
    let encoded = directory.absoluteURL.path()
    let path =
      encoded.utf8.contains(UInt8(ascii: "%"))
      ? directory.absoluteURL.path(percentEncoded: false) : encoded
    guard
      directory.isFileURL, ["", "localhost"].contains(host), !path.isEmpty, !path.utf8.contains(0)
    else {
      throw StorageError(
        operation: "locate", code: .misuse,
        message: "the directory of a storage is a local file URL, not \(directory.absoluteString)")
    }
    let isAbsolute = path.utf8.first == UInt8(ascii: "/")
    let whole = isAbsolute ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    let folder = Self.withoutSlashesAtEnd(whole)
    self.cacheFolder = folder.isEmpty ? "/" : folder
    self.dataFolder = self.cacheFolder
  }
}
