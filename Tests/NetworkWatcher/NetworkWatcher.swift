import Foundation
import Query
import SystemNetwork

/// A process that tests start inside a network namespace, since a process with threads cannot enter
/// one. It does what standard input says, a line each, and answers on standard output:
///
/// ```
/// subscribe    "status STATUS" now, and at each change
/// cancel       ends the subscription; "cancelled"
/// current      "current STATUS", without a subscription
/// metered      "metered BOOL", without a subscription
/// reach URL    "reach ANSWER"
/// ```
@main
struct NetworkWatcher {
  static func main() async {
    var subscription = QuerySubscription.empty
    Self.say("ready")
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      switch words.first {
      case "subscribe":
        subscription = SystemNetworkObserver.shared.subscribe { Self.say("status \($0)") }
      case "cancel":
        subscription.cancel()
        Self.say("cancelled")
      case "current": Self.say("current \(SystemNetworkObserver().currentStatus)")
      case "metered": Self.say("metered \(SystemNetworkObserver().isMetered)")
      case "reach":
        guard words.count == 2, let url = URL(string: words[1]) else { exit(64) }
        Self.say("reach \(await SystemNetworkObserver.shared.reachability(of: url))")
      default: exit(64)
      }
    }
  }

  /// Writes a line at once, also into a pipe.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}
