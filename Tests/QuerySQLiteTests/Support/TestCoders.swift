import Foundation
import Query
import TestSupport

/// A door at which a thread, not a task, stops until it is opened. From then on all go through.
final class Door: Sendable {
  private let semaphore: DispatchSemaphore

  init(isOpen: Bool = false) { self.semaphore = DispatchSemaphore(value: isOpen ? 1 : 0) }

  /// Stops the thread while the door is closed.
  func pass() {
    self.semaphore.wait()
    self.semaphore.signal()
  }

  /// Lets all through. Called once.
  func open() { self.semaphore.signal() }
}

/// JSON, with coding and decoding that wait at doors.
struct GatedCoder: QueryCoder {
  let encoding: Door
  let decoding: Door
  /// What was about to be coded, as text.
  let encoded = Recorder<String>()

  init(encoding: Door = Door(isOpen: true), decoding: Door = Door(isOpen: true)) {
    self.encoding = encoding
    self.decoding = decoding
  }

  var name: String { "json" }

  func encode<T: Encodable>(_ value: T) throws -> Data {
    self.encoded.append("\(value)")
    self.encoding.pass()
    return try JSONQueryCoder.json.encode(value)
  }

  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    self.decoding.pass()
    return try JSONQueryCoder.json.decode(type, from: data)
  }
}

/// JSON, with coding or decoding that fails.
struct FailingCoder: QueryCoder {
  var failsToEncode = false
  var failsToDecode = false

  var name: String { "json" }

  func encode<T: Encodable>(_ value: T) throws -> Data {
    if self.failsToEncode { throw TestError("not coded") }
    return try JSONQueryCoder.json.encode(value)
  }

  func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
    if self.failsToDecode { throw TestError("not decoded") }
    return try JSONQueryCoder.json.decode(type, from: data)
  }
}
