/// Which of the two kinds of request a macro makes, by the macro's name.
enum RequestKind: String, CaseIterable {
  case query = "QueryRequest"
  case mutation = "MutationRequest"

  /// What the function of such a macro does.
  var does: String {
    switch self {
    case .query: "fetches the value"
    case .mutation: "makes one attempt"
    }
  }

  /// What makes such a request of a closure.
  var block: String {
    switch self {
    case .query: "BlockQuery"
    case .mutation: "BlockMutation"
    }
  }
}
