import Query
import QueryHTTP
import QueryReplay
import ToolSupport

extension ReplayTool {
  /// Registers what the stock tool sends: requests, with the credentials of a file.
  ///
  /// - Returns: What registers names of requests that come later.
  /// - Throws: `ToolError` if the file cannot be used; what registering throws.
  static func registerHTTP(
    _ replayer: MutationReplayer, _ command: ParsedCommand
  ) throws -> LaterRegistration? {
    // The other commands send nothing, and need no secrets.
    let file = command.path == ["run"] ? Self.credentialFile(command) : nil
    let credentials = try file?.read() ?? HTTPCredentials()
    try replayer.register(HTTPMutation(credentials: credentials).durable())
    try Self.register(
      try replayer.instances(of: HTTPMutation.name), with: credentials, at: replayer)
    return { [replayer, credentials] in
      try Self.register(
        try replayer.waitingInstances(of: HTTPMutation.name), with: credentials, at: replayer)
    }
  }

  /// Registers the names of requests that are not registered yet.
  private static func register(
    _ instances: Set<String>, with credentials: HTTPCredentials, at replayer: MutationReplayer
  ) throws {
    let known = Set(
      replayer.handlers.lazy.filter { $0.name == HTTPMutation.name }.map(\.instance))
    for instance in instances.subtracting(known) {
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
