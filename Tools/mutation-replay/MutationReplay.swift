import QueryReplayCommand

@main
struct MutationReplay {
  static func main() async {}
}
