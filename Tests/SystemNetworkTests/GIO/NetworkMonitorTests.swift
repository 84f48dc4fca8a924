import CGIO
import Query
import Testing

@testable import SystemNetwork

@Suite struct NetworkMonitorTests {
  @Test(arguments: [
    (G_NETWORK_CONNECTIVITY_FULL, NetworkConnectionStatus.connected),
    (G_NETWORK_CONNECTIVITY_LIMITED, .requiresConnection),
    (G_NETWORK_CONNECTIVITY_PORTAL, .requiresConnection),
    (G_NETWORK_CONNECTIVITY_LOCAL, .disconnected),
  ])
  func aStatusForEachConnectivity(
    connectivity: GNetworkConnectivity, status: NetworkConnectionStatus
  ) {
    #expect(NetworkConnectionStatus(isAvailable: true, connectivity: connectivity) == status)
    #expect(
      NetworkConnectionStatus(isAvailable: false, connectivity: connectivity) == .disconnected)
  }

  @Test func aWordThatIsNotKnownYetCountsByTheNetworkAlone() {
    let unknown = GNetworkConnectivity(rawValue: 99)
    #expect(NetworkConnectionStatus(isAvailable: true, connectivity: unknown) == .connected)
    #expect(NetworkConnectionStatus(isAvailable: false, connectivity: unknown) == .disconnected)
  }

  @Test func theKernelsRoutesTellNoCost() {
    MainContext().asThreadDefault {
      let monitor = NetworkMonitor()
      if monitor.isOfKernel { #expect(!monitor.isMetered) }
    }
  }

  @Test func eachIsAMonitorOfItsOwnThatIsFreed() {
    let reference = UnsafeMutablePointer<GWeakRef>.allocate(capacity: 1)
    MainContext().asThreadDefault {
      let first = NetworkMonitor()
      var second: NetworkMonitor? = NetworkMonitor()
      #expect(first.pointer != second?.pointer)
      #expect(first.status == second?.status)
      // GLib clears it when the object is gone.
      g_weak_ref_init(reference, second.map { UnsafeMutableRawPointer($0.pointer) })
      second = nil
      #expect(g_weak_ref_get(reference) == nil)
      g_weak_ref_clear(reference)
    }
    reference.deallocate()
  }
}
