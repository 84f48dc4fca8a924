import Foundation
import TestSupport

/// A headless Chromium that shows one page, driven by its DevTools protocol over a pipe.
///
/// It is used by one task. It ends with the last reference to it: when its pipe is closed.
final class Browser {
  /// Its path, or nil if it is not installed.
  static let path = ["chromium", "chromium-browser", "google-chrome"].lazy
    .compactMap(ChildProcess.system).first

  /// A folder of its own, which goes with it.
  let folder: URL
  /// What the page wrote to the console, and what the browser complained of, in their order.
  private(set) var complaints = [String]()
  /// The requested addresses, in their order.
  private(set) var requests = [String]()

  private let process: ChildProcess
  private var session: String?
  private var calls = 0
  private var loads = 0

  /// The protocol is spoken on the descriptors 3 and 4, messages end with NUL. The shell makes 3
  /// and 4 of the child's own streams, and lines of the messages, in which there is no line feed.
  private static let shell = """
    {
      browser=$1
      shift
      "$browser" "$@" 3<&0 4>&1 >/dev/null </dev/null
    } | stdbuf -oL tr '\\000' '\\n'
    """

  /// Starts the browser with an empty page.
  ///
  /// - Parameter browser: Its path.
  /// - Throws: `POSIXError` if it cannot be started, ``Failure`` if it does not answer.
  init(_ browser: String) async throws {
    self.folder = FileManager.default.temporaryDirectory
      .appending(path: "browser-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    let profile = self.folder.appending(path: "profile").path
    // Its sandbox refuses root, as which containers run tests.
    let sandbox = getuid() == 0 ? ["--no-sandbox"] : []
    let arguments = [
      "--headless", "--remote-debugging-pipe", "--user-data-dir=\(profile)", "--no-first-run",
      "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ]
    self.process = try ChildProcess(
      "/bin/sh", ["-c", Self.shell, "sh", browser] + arguments + sandbox,
      environment: ["HOME": self.folder.path], input: .pipe, errors: .null)
    let target = try await self.call("Target.createTarget", ["url": "about:blank"])
    let attached = try await self.call(
      "Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
    self.session = attached["sessionId"] as? String
    for domain in ["Page", "Runtime", "Log", "Network"] { try await self.call("\(domain).enable") }
  }

  deinit {
    self.process.closeInput()
    _ = self.process.waitUntilEnd()
    try? FileManager.default.removeItem(at: self.folder)
  }

  /// What the browser refused, or that it has ended.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }
}

// MARK: - The page

extension Browser {
  /// Shows a page, and waits until it is loaded.
  ///
  /// - Throws: ``Failure``; what writing a file throws.
  func show(_ html: String) async throws {
    let file = self.folder.appending(path: "report.html")
    try html.write(to: file, atomically: true, encoding: .utf8)
    let before = self.loads
    try await self.call("Page.navigate", ["url": file.absoluteString])
    while self.loads == before { _ = try await self.receive() }
  }

  /// The width in pixels that the page sees, and the scheme of colours that the system prefers.
  ///
  /// - Throws: ``Failure``.
  func setScreen(width: Int, isDark: Bool) async throws {
    try await self.call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false])
    let scheme = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
    try await self.call("Emulation.setEmulatedMedia", ["features": [scheme]])
  }

  /// The value of an expression of JavaScript.
  ///
  /// - Throws: ``Failure`` if it throws.
  func value<Value>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
    let answer = try await self.call(
      "Runtime.evaluate", ["expression": expression, "returnByValue": true])
    let result = answer["result"] as? [String: Any]
    guard answer["exceptionDetails"] == nil, let value = result?["value"] as? Value else {
      throw Failure(description: "\(expression): \(answer)")
    }
    return value
  }

  /// Types into what has the focus.
  ///
  /// - Throws: ``Failure``.
  func type(_ text: String) async throws {
    for character in text {
      let key = String(character)
      try await self.call("Input.dispatchKeyEvent", ["type": "keyDown", "text": key, "key": key])
      try await self.call("Input.dispatchKeyEvent", ["type": "keyUp", "key": key])
    }
  }

  /// Presses a key that is no letter.
  ///
  /// - Parameters:
  ///   - key: Its name: `Enter`.
  ///   - code: Its number: 13.
  ///   - text: What it types.
  /// - Throws: ``Failure``.
  func press(_ key: String, code: Int, text: String = "") async throws {
    let event: [String: Any] = ["key": key, "code": key, "windowsVirtualKeyCode": code]
    try await self.call(
      "Input.dispatchKeyEvent", event.merging(["type": "keyDown", "text": text]) { $1 })
    try await self.call("Input.dispatchKeyEvent", event.merging(["type": "keyUp"]) { $1 })
  }

  /// Writes a picture of the whole page.
  ///
  /// - Throws: ``Failure``; what writing a file throws.
  func writeScreenshot(to file: URL) async throws {
    let answer = try await self.call(
      "Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
    guard let picture = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
      throw Failure(description: "no picture: \(answer.keys)")
    }
    try picture.write(to: file)
  }
}

// MARK: - The protocol

extension Browser {
  /// Calls a method, and takes note of the events that come before its answer.
  @discardableResult
  private func call(_ method: String, _ parameters: [String: Any] = [:]) async throws
    -> [String: Any]
  {
    self.calls += 1
    var message: [String: Any] = ["id": self.calls, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let json = try JSONSerialization.data(withJSONObject: message)
    try self.process.write(String(decoding: json, as: UTF8.self) + "\0")
    while true {
      let answer = try await self.receive()
      if answer["id"] as? Int != self.calls { continue }
      if let error = answer["error"] { throw Failure(description: "\(method): \(error)") }
      return answer["result"] as? [String: Any] ?? [:]
    }
  }

  /// Waits for the next message.
  private func receive() async throws -> [String: Any] {
    guard let line = await self.process.line() else {
      throw Failure(description: "the browser has ended")
    }
    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
    let message = object as? [String: Any] ?? [:]
    let parameters = message["params"] as? [String: Any] ?? [:]
    switch message["method"] as? String {
    case "Page.loadEventFired": self.loads += 1
    case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
      self.complaints.append(line)
    case "Network.requestWillBeSent":
      let request = parameters["request"] as? [String: Any]
      self.requests.append(request?["url"] as? String ?? line)
    default: break
    }
    return message
  }
}
