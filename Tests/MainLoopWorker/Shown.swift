import CGIO
import Query
import SystemMainLoop

extension MainLoopWorker {
  /// Shows the value of a store that a background task changes, and changes it once more with a frame due.
  @MainActor
  static func show() async {
    let store = QueryStore.detached(query: BlockQuery(["count"]) { _ in 0 }, initialValue: 0)
    let frame = Frame()
    var shown = [Int?]()
    var wasFrameDrawn = [Bool]()
    let following = MainLoop.follow {
      store.currentValue
    } show: {
      shown.append($0)
      wasFrameDrawn.append(frame.isDrawn)
    }
    Self.say("at once \(shown == [0])")
    await Task.detached {
      for value in 1...10_000 { store.currentValue = value }
    }.value
    while shown.last != 10_000 { try? await Task.sleep(for: .milliseconds(1)) }
    Self.say("the last one, in order \(shown == shown.sorted { $0 ?? 0 < $1 ?? 0 })")
    store.currentValue = 10_001
    frame.isDue()
    while shown.last != 10_001 { try? await Task.sleep(for: .milliseconds(1)) }
    Self.say("after the frame \(wasFrameDrawn.last ?? false)")
    following.cancel()
    await following.value
    store.currentValue = 10_002
    try? await Task.sleep(for: .milliseconds(1))
    Self.say("after its end \(shown.last == 10_001)")
  }
}

/// A frame, at the priority that GTK draws with.
@MainActor
private final class Frame {
  private(set) var isDrawn = false

  func isDue() {
    g_idle_add_full(
      120,
      { data in
        guard let data else { return 0 }
        // It does not leave the main thread.
        nonisolated(unsafe) let frame = data
        MainActor.assumeIsolated {
          Unmanaged<Frame>.fromOpaque(frame).takeUnretainedValue().isDrawn = true
        }
        return 0
      }, Unmanaged.passUnretained(self).toOpaque(), nil)
  }
}
