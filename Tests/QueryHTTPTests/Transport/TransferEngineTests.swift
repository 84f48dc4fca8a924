import Foundation
import FoundationNetworking
import Query
import TestSupport
import Testing

@testable import QueryHTTP

/// The thread that carries out transfers.
@Suite struct TransferEngineTests {
  private func status(
    _ url: URL, by engine: TransferEngine,
    _ patience: Transfer.Patience = Transfer.Patience(silence: .seconds(60))
  ) async throws -> Int {
    let status = Locked(0)
    return try await withCheckedThrowingContinuation { continuation in
      let receiver = Transfer.Receiver(
        head: { head in status.withLock { $0 = head.status } }, bytes: { _ in true },
        end: { result in
          continuation.resume(with: result.map { status.withLock { $0 } }.mapError { $0 })
        })
      do {
        engine.start(try Transfer(URLRequest(url: url), nil, patience, width: 2, receiver))
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// It ends when there is nothing to do, and begins again, also while it ends.
  @Test func whatComesWhileTheThreadEndsIsCarriedOut() async throws {
    let server = try LoopbackServer(keepsConnections: true) { _, _ in .status(200) }
    let engine = TransferEngine(lingering: .zero)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<100 {
            let status = try await self.status(server.url, by: engine)
            #expect(status == 200)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 400)
  }

  /// Two of an origin run at once here, and those that follow need their places.
  @Test func whatHasTakenTooLongLeavesItsPlace() async throws {
    let server = try LoopbackServer { _, number in number <= 2 ? .silence : .status(200) }
    let engine = TransferEngine(lingering: .zero)
    await withTaskGroup(of: Void.self) { group in
      for _ in 1...2 {
        group.addTask {
          let patience = Transfer.Patience(silence: .milliseconds(300))
          let error = await #expect(throws: URLError.self) {
            try await self.status(server.url, by: engine, patience)
          }
          #expect(error?.code == .timedOut)
        }
      }
    }
    let patience = Transfer.Patience(silence: .seconds(60), total: .seconds(60))
    #expect(try await self.status(server.url, by: engine, patience) == 200)
    #expect(server.requests.count == 3)
  }

  /// It is not sent once there is a place, either.
  @Test func whatWaitsForAPlaceForTooLongIsGivenUp() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _, _ in .afterGate(gate, .status(200)) }
    let engine = TransferEngine(lingering: .zero)
    let first = (1...2).map { _ in Task { try await self.status(server.url, by: engine) } }
    await server.requests.wait(forCount: 2)
    let patience = Transfer.Patience(silence: .seconds(60), total: .milliseconds(100))
    let error = await #expect(throws: URLError.self) {
      try await self.status(server.url, by: engine, patience)
    }
    #expect(error?.code == .timedOut)
    gate.open()
    for task in first { #expect(try await task.value == 200) }
    #expect(try await self.status(server.url, by: engine) == 200)
    #expect(server.requests.count == 3)
  }

  /// The network may have forgotten a connection that was used before. Once it has answered, the
  /// system decides again.
  @Test func aKeptConnectionMayLeaveARequestUnacknowledgedForFiveSeconds() async throws {
    let gate = Gate()
    let server = try LoopbackServer(keepsConnections: true) { _, number in
      number == 1 ? .status(200) : .afterGate(gate, .status(200))
    }
    #expect(try await self.status(server.url, by: .shared) == 200)
    #expect(try Self.limits(ofConnectionsTo: server) == [0])
    async let second = self.status(server.url, by: .shared)
    await server.requests.wait(forCount: 2)
    #expect(try Self.limits(ofConnectionsTo: server) == [5_000])
    gate.open()
    #expect(try await second == 200)
    #expect(try Self.limits(ofConnectionsTo: server) == [0])
  }

  /// For how many milliseconds each connection of this process may leave what it was sent
  /// unacknowledged; 0: as long as the system lets it.
  private static func limits(ofConnectionsTo server: LoopbackServer) throws -> [UInt32] {
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    return descriptors.compactMap { Int32($0) }.compactMap { socket in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let hasName = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getpeername(socket, $0, &length) == 0
        }
      }
      guard hasName, address.sin_family == sa_family_t(AF_INET),
        Int(UInt16(bigEndian: address.sin_port)) == server.url.port
      else { return nil }
      var limit: UInt32 = 0
      length = socklen_t(MemoryLayout<UInt32>.size)
      let result = getsockopt(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, &length)
      return result == 0 ? limit : nil
    }
  }

  /// A process that ends in the middle ends as it was told to.
  @Test func aProcessEndsInTheMiddleOfItsRequests() async throws {
    let server = try LoopbackServer { _, number in
      number.isMultiple(of: 2) ? .silence : .status(200, body: String(repeating: "x", count: 9_999))
    }
    for _ in 0..<10 {
      let folder = try ScratchFolder()
      let worker = try ChildProcess(
        ChildProcess.product("http-worker"), ["leave", folder.path, server.url.absoluteString])
      #expect(await worker.end() == .code(0))
    }
  }

  /// Its caller ends with the process: an error that no network has made would be told, and stored.
  @Test func whatIsSentOnceTheProcessEndsHasNoAnswer() async {
    await #expect(processExitsWith: .exitCode(7)) {
      // What was registered first is called last, when the engine has stopped.
      atexit { _exit(TransferEngineTests.endsWhenSent() ? 8 : 7) }
      #expect(TransferEngine.shared.lingering > .zero)
      exit(0)
    }
  }

  /// Whether a transfer has ended when the shared engine has taken it.
  private static func endsWhenSent() -> Bool {
    let hasEnded = Locked(false)
    let receiver = Transfer.Receiver(
      head: { _ in }, bytes: { _ in true }, end: { _ in hasEnded.withLock { $0 = true } })
    guard let url = URL(string: "http://127.0.0.1:1/") else { return true }
    let patience = Transfer.Patience(silence: .seconds(60))
    let transfer = try? Transfer(URLRequest(url: url), nil, patience, width: 2, receiver)
    guard let transfer else { return true }
    TransferEngine.shared.start(transfer)
    return hasEnded.withLock { $0 }
  }

  @Test func aSitesCertificatesAreWhereItsEnvironmentSays() {
    let places = RunningTransfer.certificatePlaces {
      ["SSL_CERT_FILE": "", "SSL_CERT_DIR": "/etc/certificates"][$0]
    }
    #expect(places.map(\.path) == ["/etc/certificates"])
    #expect(RunningTransfer.certificatePlaces { _ in "a" }.map(\.path) == ["a", "a"])
    #expect(RunningTransfer.certificatePlaces { _ in nil }.isEmpty)
  }

  @Test func aTransferThatFindsNoDescriptorFailsAtOnce() async {
    await #expect(processExitsWith: .success) {
      let engine = TransferEngine(lingering: .zero)
      let ends = Recorder<URLError.Code>()
      let receiver = Transfer.Receiver(
        head: { _ in }, bytes: { _ in true },
        end: { result in
          if case .failure(let error) = result { ends.append(error.code) }
        })
      let url = try #require(URL(string: "http://127.0.0.1:1/"))
      let patience = Transfer.Patience(silence: .seconds(60))
      let transfer = try Transfer(URLRequest(url: url), nil, patience, width: 2, receiver)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      try #require(getrlimit(files, &limit) == 0)
      let before = limit
      // What is open stays so.
      limit.rlim_cur = 0
      try #require(setrlimit(files, &limit) == 0)
      engine.start(transfer)
      limit = before
      try #require(setrlimit(files, &limit) == 0)
      #expect(ends.elements == [.cannotConnectToHost])
    }
  }
}
