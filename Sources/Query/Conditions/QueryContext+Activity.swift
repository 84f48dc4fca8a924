extension QueryContext {
  /// Tells whether the application is active. By default the observer of the client's default creator, if
  /// it has one; nil: the application counts as active.
  public var applicationActivityObserver: (any ApplicationActivityObserver)? {
    get { self[ApplicationActivityObserverKey.self] }
    set { self[ApplicationActivityObserverKey.self] = newValue }
  }

  private enum ApplicationActivityObserverKey: Key {
    static var defaultValue: (any ApplicationActivityObserver)? { nil }
  }
}
