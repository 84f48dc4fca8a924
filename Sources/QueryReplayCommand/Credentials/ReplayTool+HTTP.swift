import QueryHTTP
import QueryReplay
import ToolSupport

extension ReplayTool {
  /// Registers what the stock tool sends: requests, with the credentials of a file.
  ///
  /// - Throws: `ToolError` if the file cannot be used; what registering throws.
  static func registerHTTP(_ replayer: MutationReplayer, _ command: ParsedCommand) throws {
    // The other commands send nothing, and need no secrets.
    let file = command.path == ["run"] ? Self.credentialFile(command) : nil
    let credentials = try file?.read() ?? HTTPCredentials()
    try replayer.register(HTTPMutation(credentials: credentials).durable())
    for instance in try replayer.instances(of: HTTPMutation.name) {
      guard let name = HTTPMutation.label(ofInstance: instance) else { continue }
      try replayer.register(HTTPMutation(name: name, credentials: credentials).durable())
    }
  }

  private static func credentialFile(_ command: ParsedCommand) -> CredentialFile? {
    if let path = command.text(RunOption.credentials) { return CredentialFile(path: path) }
    guard let id = command.text(CommonOption.application) else { return nil }
    return CredentialFile(applicationID: id)
  }
}
