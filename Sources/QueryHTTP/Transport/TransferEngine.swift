import CCurl
import Dispatch
import Foundation
import Glibc
import Query

/// Carries out the transfers of the process, by libcurl, in a thread of its own that ends when there has
/// been nothing to do for a while.
///
/// Locking: `guarded` is read and written under its lock; nobody is called under it.
final class TransferEngine: Sendable {
  static let shared: TransferEngine = {
    let engine = TransferEngine(lingering: .seconds(60))
    // Registered behind OpenSSL's own handler, and so called before it: no transfer may use what that
    // takes down.
    atexit { TransferEngine.shared.stop() }
    return engine
  }()

  private struct Guarded {
    /// What the thread has not seen yet.
    var news = News()
    /// What wakes the thread; nil: it does not run.
    var multi: Multi?
    var isStopping = false
  }

  /// What others want of the thread.
  struct News {
    var arrivals = [Transfer]()
    /// Whether some of what it knows has been given up.
    var hasEnded = false
  }

  /// How long the thread and the connections that can be used again stay without anything to do.
  let lingering: Duration
  private let guarded = Locked(Guarded())
  private let hasStopped = DispatchSemaphore(value: 0)

  init(lingering: Duration) {
    self.lingering = lingering
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
  }

  /// Begins a transfer. Its receiver is told its end, whatever happens, unless the process ends first.
  func start(_ transfer: Transfer) {
    let (start, hasFailed) = self.guarded.withLock { guarded -> (Multi?, Bool) in
      // Its callers end with the process, and not by an error that no network has made.
      if guarded.isStopping { return (nil, false) }
      if let multi = guarded.multi {
        guarded.news.arrivals.append(transfer)
        multi.wake()
        return (nil, false)
      }
      guard let multi = Multi() else { return (nil, true) }
      guarded.news.arrivals.append(transfer)
      guarded.multi = multi
      return (multi, false)
    }
    if hasFailed { transfer.end(.failure(URLError(.cannotConnectToHost))) }
    guard let start else { return }
    guard !startThread("query-http", { TransferLoop(start, self).run() }) else { return }
    let refused = self.guarded.withLock { guarded in
      defer { guarded.news = News() }
      guarded.multi = nil
      return guarded.news.arrivals
    }
    for transfer in refused { transfer.end(.failure(URLError(.cannotConnectToHost))) }
  }

  /// Ends a transfer at once, and its connection as soon as the thread comes to it.
  func cancel(_ transfer: Transfer) {
    transfer.end(.failure(URLError(.cancelled)))
    self.guarded.withLock { guarded in
      guarded.news.hasEnded = true
      guarded.multi?.wake()
    }
  }

  /// What has come since it was asked last; nil: the thread must end.
  ///
  /// - Parameter mayEnd: Whether the thread would like to, if nothing has come.
  func news(mayEnd: Bool) -> News? {
    self.guarded.withLock { guarded in
      if guarded.isStopping || mayEnd && guarded.news.arrivals.isEmpty {
        guarded.multi = nil
        return nil
      }
      defer { guarded.news = News() }
      return guarded.news
    }
  }

  /// Whether the process ends.
  var isStopping: Bool { self.guarded.withLock { $0.isStopping } }

  /// Called by the thread when it uses nothing any more, if the process ends.
  func didStop() { self.hasStopped.signal() }

  /// Ends the thread before the process ends.
  private func stop() {
    let isRunning = self.guarded.withLock { guarded in
      guarded.isStopping = true
      guarded.multi?.wake()
      return guarded.multi != nil
    }
    // Not for ever: a callback of the thread may be what ends the process.
    if isRunning { _ = self.hasStopped.wait(timeout: .now() + 1) }
  }
}

/// A multi handle, which lives as long as anybody may wake it.
// @unchecked: others only wake it, which libcurl allows from any thread.
final class Multi: @unchecked Sendable {
  let handle: UnsafeMutableRawPointer
  /// Those of its connections; they are closed with it.
  let sockets = OpenSockets()
  /// How many connections may wait for a next request.
  private static let keptConnections = 64

  init?() {
    guard let handle = curl_multi_init() else { return nil }
    ccurl_set_kept_connections(handle, Self.keptConnections)
    // Without descriptors left there is one that nobody can wake.
    guard curl_multi_wakeup(handle) == CURLM_OK else {
      curl_multi_cleanup(handle)
      return nil
    }
    self.handle = handle
  }

  deinit { curl_multi_cleanup(self.handle) }

  func wake() { curl_multi_wakeup(self.handle) }
}

/// The engine's thread.
private final class TransferLoop {
  private let multi: Multi
  private let engine: TransferEngine
  /// By their handles.
  private var running = [UnsafeMutableRawPointer: RunningTransfer]()
  /// How many run in each lane, and what waits there.
  private var lanes = [Transfer.Lane: (running: Int, waiting: [Transfer])]()
  private var lastWork = ContinuousClock.now

  init(_ multi: Multi, _ engine: TransferEngine) {
    self.multi = multi
    self.engine = engine
  }

  func run() {
    blockSignals()
    while let news = self.engine.news(mayEnd: self.mayEnd) {
      if news.hasEnded { self.dropEnded() }
      for transfer in news.arrivals { self.begin(transfer) }
      self.perform()
      self.expire()
      self.wait()
    }
    if self.engine.isStopping {
      // The process ends, and with it all that is left here. To close connections one by one would use
      // what is being taken down.
      _ = Unmanaged.passRetained(self)
      self.engine.didStop()
    }
  }

  private var mayEnd: Bool {
    self.running.isEmpty && self.lastWork.duration(to: .now) >= self.engine.lingering
  }

  private func begin(_ transfer: Transfer) {
    guard transfer.current != nil else { return }
    if let lane = transfer.lane {
      if self.lanes[lane, default: (0, [])].running >= lane.width {
        self.lanes[lane]?.waiting.append(transfer)
        return
      }
      self.lanes[lane, default: (0, [])].running += 1
    }
    self.launch(transfer)
  }

  /// Hands a transfer to libcurl; its lane has counted it.
  private func launch(_ transfer: Transfer, isConnectionNew: Bool = false) {
    guard
      let running = RunningTransfer(
        transfer, self.multi.sockets, isConnectionNew: isConnectionNew),
      curl_multi_add_handle(self.multi.handle, running.handle) == CURLM_OK
    else {
      transfer.end(.failure(URLError(.cannotConnectToHost)))
      self.leave(transfer.lane)
      return
    }
    self.running[running.handle] = running
  }

  /// Lets the next of a lane begin.
  private func leave(_ lane: Transfer.Lane?) {
    guard let lane, var state = self.lanes[lane] else { return }
    let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    if next == nil { state.running -= 1 }
    self.lanes[lane] = state.running == 0 ? nil : state
    // If it has been given up meanwhile, it is dropped with those that run.
    if let next { self.launch(next) }
  }

  private func remove(_ transfer: RunningTransfer) {
    self.drop(transfer)
    self.leave(transfer.transfer.lane)
  }

  /// Takes a transfer from libcurl, which does not end it.
  private func drop(_ transfer: RunningTransfer) {
    self.lastWork = .now
    curl_multi_remove_handle(self.multi.handle, transfer.handle)
    self.running[transfer.handle] = nil
  }

  /// Drops what has been given up.
  private func dropEnded() {
    for lane in self.lanes.keys { self.lanes[lane]?.waiting.removeAll { $0.current == nil } }
    for transfer in self.running.values where transfer.transfer.current == nil {
      self.remove(transfer)
    }
  }

  private func perform() {
    var count: Int32 = 0
    curl_multi_perform(self.multi.handle, &count)
    while let message = curl_multi_info_read(self.multi.handle, &count) {
      guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
        let transfer = self.running[handle]
      else { continue }
      if transfer.isConnectionStale {
        self.drop(transfer)
        self.launch(transfer.transfer, isConnectionNew: true)
      } else {
        transfer.end(ccurl_result(message))
        self.remove(transfer)
      }
    }
  }

  /// Ends what has taken too long.
  private func expire() {
    let now = ContinuousClock.now
    for transfer in self.running.values where transfer.expire(at: now) { self.remove(transfer) }
    for lane in self.lanes.keys {
      self.lanes[lane]?.waiting.removeAll { transfer in
        guard let last = transfer.lastMoment, last <= now else { return false }
        transfer.end(.failure(URLError(.timedOut)))
        return true
      }
    }
  }

  /// Waits for bytes, for the next deadline, or to be woken.
  private func wait() {
    var next = self.running.isEmpty ? self.lastWork + self.engine.lingering : .now + .seconds(3_600)
    for transfer in self.running.values { next = min(next, transfer.nextDue) }
    for lane in self.lanes.values {
      for transfer in lane.waiting { next = min(next, transfer.lastMoment ?? next) }
    }
    let wait = max(.zero, ContinuousClock.now.duration(to: next)) / .milliseconds(1)
    curl_multi_poll(self.multi.handle, nil, 0, Int32(wait.rounded(.up)), nil)
  }
}

/// Keeps the signals of the process away from this thread, and what a closed connection raises, too.
private func blockSignals() {
  var all = sigset_t()
  sigfillset(&all)
  pthread_sigmask(SIG_BLOCK, &all, nil)
}
