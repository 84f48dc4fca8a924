import Foundation
import QueryHTTP
import ToolSupport

/// The file that the stock tool takes credentials from: a JSON object of names, as requests refer
/// to them.
///
/// ```json
/// {"api": {"origins": ["https://api.example.org"], "headers": {"Authorization": "Bearer …"}}}
/// ```
/// It is used only if it belongs to the user and nobody else can read or write it.
struct CredentialFile {
  /// A larger file is not a file of credentials.
  private static let maximumBytes = 1 << 20

  private struct Entry: Decodable {
    var origins: [String]
    var headers: [String: String]
  }

  /// The path of the file.
  let path: String
  /// Whether the file must exist.
  let isRequired: Bool

  /// A file that the user named.
  init(path: String) {
    self.path = path
    self.isRequired = true
  }

  /// An application's file, which may be missing: `mutation-replay/ID.json` below
  /// `$XDG_CONFIG_HOME`, by default `~/.config`.
  ///
  /// - Parameters:
  ///   - applicationID: The application, the name of a folder.
  ///   - environment: The process's variables. One that is empty or relative counts as unset.
  init?(
    applicationID: String,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    func folder(_ name: String) -> String? {
      environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    guard let base = folder("XDG_CONFIG_HOME") ?? folder("HOME").map({ "\($0)/.config" }) else {
      return nil
    }
    self.path = "\(base)/mutation-replay/\(applicationID).json"
    self.isRequired = false
  }

  /// The credentials in the file. No error shows any of its content.
  ///
  /// - Throws: `ToolError` if the file cannot be used.
  func read() throws(ToolError) -> HTTPCredentials {
    guard let data = try self.data() else { return HTTPCredentials() }
    let entries: [String: Entry]
    do {
      entries = try JSONDecoder().decode([String: Entry].self, from: data)
    } catch {
      throw ToolError(
        .badData, "\(self.path) is no file of credentials; see mutation-replay --help")
    }
    var credentials = HTTPCredentials()
    for (name, entry) in entries {
      let origins = try entry.origins.map { text throws(ToolError) in
        try self.origin(text, of: name)
      }
      credentials[name] = HTTPCredential(for: origins) { entry.headers }
    }
    return credentials
  }

  private func origin(_ text: String, of name: String) throws(ToolError) -> URL {
    if let url = URL(string: text), HTTPOrigin(url) != nil { return url }
    throw ToolError(
      .badData, "\(self.path): an origin of “\(name)” is no URL such as https://api.example.org")
  }

  private func data() throws(ToolError) -> Data? {
    let descriptor = open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT, !self.isRequired { return nil }
      throw self.failure("cannot be read: \(String(cString: strerror(errno)))")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw self.failure("is no file")
    }
    guard status.st_uid == geteuid() else { throw self.failure("belongs to another user") }
    guard status.st_mode & 0o077 == 0 else {
      throw self.failure("can be read by others: chmod 600 \(self.path)")
    }
    guard status.st_size <= Self.maximumBytes else { throw self.failure("is too big") }
    guard let data = try? file.read(upToCount: Self.maximumBytes) else {
      if status.st_size == 0 { return Data() }
      throw self.failure("cannot be read")
    }
    return data
  }

  private func failure(_ words: String) -> ToolError {
    ToolError(.inputOutput, "the file of credentials \(self.path) \(words)")
  }
}
