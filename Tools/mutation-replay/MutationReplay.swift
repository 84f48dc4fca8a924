import QueryReplayCommand

/// The stock tool: sends the requests that applications have left.
@main
struct MutationReplay {
  static func main() async { await MutationReplayCommand.stockMain() }
}
