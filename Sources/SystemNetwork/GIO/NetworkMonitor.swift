import CGIO
import Foundation
import Query

/// One of GIO's network monitors, which belongs to the thread that creates it.
///
/// Not `g_network_monitor_get_default()`: that one, made once in a process, receives its events on
/// the context of its first caller, for ever. If nobody iterates that context, it knows nothing; if
/// its thread stops iterating, the kernel's messages overflow, and GIO gives up listening.
final class NetworkMonitor {
  let pointer: OpaquePointer

  /// Creates the best monitor that works here, as GIO chooses its default. It may ask NetworkManager
  /// or the portal, and wait for the answer.
  init() {
    // GIO registers its monitors when it first looks for an implementation of anything; there is no
    // proxy of this name, so nothing else comes of it.
    let nothing = g_proxy_get_default_for_protocol("")
    if let nothing { g_object_unref(UnsafeMutableRawPointer(nothing)) }
    for type in Self.types {
      guard let monitor = cgio_network_monitor_new(type) else { continue }
      self.pointer = monitor
      return
    }
    // A GIO that does not export its types still has the process's default monitor.
    self.pointer = g_network_monitor_get_default()
    g_object_ref(UnsafeMutableRawPointer(self.pointer))
  }

  deinit { g_object_unref(UnsafeMutableRawPointer(self.pointer)) }

  /// The status as GIO has it now. It changes while the context is iterated.
  var status: NetworkConnectionStatus {
    NetworkConnectionStatus(
      isAvailable: g_network_monitor_get_network_available(self.pointer) != 0,
      connectivity: g_network_monitor_get_connectivity(self.pointer)
    )
  }

  /// Whether the network is metered, as GIO has it now. Of the kernel's routes that is not known: then it
  /// is not.
  var isMetered: Bool { g_network_monitor_get_network_metered(self.pointer) != 0 }

  /// Whether this monitor reads the kernel's routes itself and uses no service.
  var isOfKernel: Bool {
    let name = g_type_name_from_instance(UnsafeMutablePointer<GTypeInstance>(self.pointer))
    return name.map { String(cString: $0) } == "GNetworkMonitorNetlink"
  }

  /// GIO's kinds of monitors, the best first; the environment may prefer one, as it may for GIO.
  private static var types: [GType] {
    guard let point = g_io_extension_point_lookup(G_NETWORK_MONITOR_EXTENSION_POINT_NAME)
    else { return [] }
    var types = [GType]()
    if let preferred = getenv("GIO_USE_NETWORK_MONITOR"),
      let kind = g_io_extension_point_get_extension_by_name(point, preferred)
    {
      types.append(g_io_extension_get_type(kind))
    }
    var next = g_io_extension_point_get_extensions(point)
    while let element = next {
      types.append(g_io_extension_get_type(OpaquePointer(element.pointee.data)))
      next = element.pointee.next
    }
    return types
  }
}

extension NetworkConnectionStatus {
  /// - Parameters:
  ///   - isAvailable: Whether GIO says that there is a network.
  ///   - connectivity: How well it can be reached. A value that a later GIO may add counts as full.
  init(isAvailable: Bool, connectivity: GNetworkConnectivity) {
    switch connectivity {
    case _ where !isAvailable: self = .disconnected
    case G_NETWORK_CONNECTIVITY_LOCAL: self = .disconnected
    case G_NETWORK_CONNECTIVITY_LIMITED, G_NETWORK_CONNECTIVITY_PORTAL: self = .requiresConnection
    default: self = .connected
    }
  }
}
