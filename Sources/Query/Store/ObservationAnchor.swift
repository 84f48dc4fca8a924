public import Observation

/// What Observation knows of a store.
///
/// A class of its own, because a key path into the generic store costs 0.9 µs each time that it is
/// written down.
@usableFromInline
final class ObservationAnchor: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  @usableFromInline
  init() {}

  // The property that represents the whole state.
  private var state: Void { () }

  @usableFromInline
  func trackAccess() { self.registrar.access(self, keyPath: \.state) }

  @usableFromInline
  func announceChange() { self.registrar.withMutation(of: self, keyPath: \.state) {} }
}

extension QueryStore: Observable {
  @inlinable
  func trackAccess() {
    let anchor = self.withLock {
      if let anchor = self.observation { return anchor }
      let anchor = ObservationAnchor()
      self.observation = anchor
      return anchor
    }
    anchor.trackAccess()
  }
}
