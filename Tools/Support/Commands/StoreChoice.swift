package import FoundationEssentials

/// Which store a command line means.
package enum StoreChoice: Hashable, Sendable {
  /// That of a folder, an absolute file URL.
  case directory(URL)
  /// That of an application.
  case application(String)

  /// The store of `--store` or `--application`.
  ///
  /// - Throws: ``UsageError`` if there is neither, or both.
  package init(_ command: ParsedCommand) throws(UsageError) {
    let store = command.text(CommonOption.store)
    switch (store, command.text(CommonOption.application)) {
    case (let directory?, nil):
      self = .directory(URL(filePath: directory, directoryHint: .isDirectory).absoluteURL)
    case (nil, let application?): self = .application(application)
    case (nil, nil):
      throw command.usageError("name the store: --store DIR or --application ID")
    case (.some, .some): throw command.usageError("give --store or --application, not both")
    }
  }
}

extension StoreChoice: CustomStringConvertible {
  /// The path of the folder, or the application's identifier.
  package var description: String {
    switch self {
    case .directory(let url): url.path(percentEncoded: false)
    case .application(let identifier): identifier
    }
  }
}
