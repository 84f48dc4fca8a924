import Query

extension QueryStore {
  /// Returns as soon as the state is one that a test waits for.
  func waitForState(where isReady: (State) -> Bool) async {
    for await element in self.states where isReady(element.state) { return }
  }
}
