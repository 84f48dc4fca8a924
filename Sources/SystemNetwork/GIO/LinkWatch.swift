import CGIO
import Foundation

/// Tells when links and addresses of this machine change.
///
/// The kernel removes IPv4 routes without a message when their link goes down or their address
/// leaves, and GIO listens to route messages alone, so it would go on reporting a network. A
/// monitor that reads the kernel's routes must therefore be asked again some time after such a
/// change.
final class LinkWatch {
  /// How long after a change the routes are read, in microseconds: the kernel reports a link before
  /// it removes the routes. A burst of changes counts as one.
  private static let delay: gint64 = 100_000

  private let descriptor: Int32
  private let source: UnsafeMutablePointer<GSource>
  private var isDue = false

  /// Watches from now on.
  ///
  /// - Parameter context: The main context that the calling thread iterates.
  /// - Returns: `nil` if this process may not listen to the kernel.
  init?(context: MainContext) {
    let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_NETLINK, kind | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
    guard descriptor >= 0 else { return nil }
    guard Self.bind(descriptor), let source = g_unix_fd_source_new(descriptor, G_IO_IN) else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.source = source
    // Not retained: the source is destroyed with this object, by the thread that iterates it.
    cgio_set_descriptor_callback(
      source, linkWatchCallback, Unmanaged.passUnretained(self).toOpaque())
    g_source_attach(source, context.pointer)
  }

  deinit {
    g_source_destroy(self.source)
    g_source_unref(self.source)
    close(self.descriptor)
  }

  /// Whether the routes are to be read now. True once for each burst of changes.
  func takeDue() -> Bool {
    defer { self.isDue = false }
    return self.isDue
  }

  private static func bind(_ descriptor: Int32) -> Bool {
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
    let size = socklen_t(MemoryLayout<sockaddr_nl>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.bind(descriptor, $0, size) == 0
      }
    }
  }

  /// - Parameter hasNews: Whether the kernel has sent something; otherwise the delay is over.
  /// - Returns: Whether to go on.
  fileprivate func handle(hasNews: Bool) -> Bool {
    if !hasNews {
      g_source_set_ready_time(self.source, -1)
      self.isDue = true
      return true
    }
    if g_source_get_ready_time(self.source) < 0 {
      g_source_set_ready_time(self.source, g_get_monotonic_time() + Self.delay)
    }
    return self.discardNews()
  }

  /// Drains the kernel's messages; only that there was one matters.
  private func discardNews() -> Bool {
    // A message that does not fit is truncated; a full buffer (ENOBUFS) is reported as an error
    // once.
    var byte: UInt8 = 0
    while recv(self.descriptor, &byte, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR {}
    return errno == EAGAIN
  }
}

private func linkWatchCallback(
  _: gint, condition: GIOCondition, watch: UnsafeMutableRawPointer?
) -> gboolean {
  guard let watch else { return 0 }
  let isGoingOn = Unmanaged<LinkWatch>.fromOpaque(watch).takeUnretainedValue()
    .handle(hasNews: condition.rawValue != 0)
  return isGoingOn ? 1 : 0
}
