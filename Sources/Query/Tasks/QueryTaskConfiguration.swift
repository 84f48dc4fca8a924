/// The name, priority and executor of a task, as a view onto a context.
///
/// A configuration made by ``init(context:)`` replaces a store's context when it is passed to a
/// fetch. One made without a context holds only what was set on it, and is laid over the store's.
public struct QueryTaskConfiguration: Sendable {
  /// The context that this is a view of.
  public var context: QueryContext

  @usableFromInline let isOverlay: Bool

  /// A view of a whole context.
  ///
  /// - Parameter context: The context that a task runs with.
  @inlinable
  public init(context: QueryContext) {
    self.context = context
    self.isOverlay = false
  }

  /// A configuration that holds only what is given here, and what is set on it later.
  ///
  /// - Parameters:
  ///   - name: The name of the task, in messages and in tools that show Swift tasks.
  ///   - priority: The priority of the task.
  public init(name: String? = nil, priority: TaskPriority? = nil) {
    self.init(name: name, priority: priority, executorPreference: nil)
  }

  /// A configuration that holds only what is given here, and what is set on it later.
  ///
  /// - Parameters:
  ///   - name: The name of the task, in messages and in tools that show Swift tasks.
  ///   - priority: The priority of the task.
  ///   - executorPreference: The executor that the task prefers.
  public init(
    name: String? = nil,
    priority: TaskPriority? = nil,
    executorPreference: (any TaskExecutor)? = nil
  ) {
    self.context = QueryContext()
    self.isOverlay = true
    if let name { self.name = name }
    if let priority { self.priority = priority }
    if let executorPreference { self.executorPreference = executorPreference }
  }

  /// The context of a fetch that is given this configuration.
  ///
  /// - Parameter base: The context of the store.
  @usableFromInline
  func context(over base: QueryContext) -> QueryContext {
    guard self.isOverlay else { return self.context }
    var merged = base
    merged.merge(self.context)
    return merged
  }
}

// MARK: - Values

extension QueryTaskConfiguration {
  /// The name of the task, in messages and in tools that show Swift tasks.
  @inlinable
  public var name: String? {
    get { self.context.taskName }
    set { self.context[QueryContext.TaskNameKey.self] = newValue }
  }

  /// The priority of the task.
  @inlinable
  public var priority: TaskPriority? {
    get { self.context[QueryContext.TaskPriorityKey.self] }
    set { self.context[QueryContext.TaskPriorityKey.self] = newValue }
  }

  /// The executor that the task prefers.
  @inlinable
  public var executorPreference: (any TaskExecutor)? {
    get { self.context[QueryContext.TaskExecutorPreferenceKey.self] }
    set { self.context[QueryContext.TaskExecutorPreferenceKey.self] = newValue }
  }
}

extension QueryContext {
  /// The configuration of the tasks that run with this context.
  ///
  /// Setting it writes its name, priority and executor, and every other key that is set in its
  /// context; it removes no key.
  public var queryTaskConfiguration: QueryTaskConfiguration {
    get { QueryTaskConfiguration(context: self) }
    set {
      self.merge(newValue.context)
      self.setTaskValues(of: newValue)
    }
  }

  mutating func setTaskValues(of configuration: QueryTaskConfiguration) {
    // Not a default name, which is that of another store's task.
    self[TaskNameKey.self] = configuration.context[TaskNameKey.self]
    self[TaskPriorityKey.self] = configuration.priority
    self[TaskExecutorPreferenceKey.self] = configuration.executorPreference
  }

  /// The name of the task: the one that was set, or else that of the store's fetch.
  @inlinable
  var taskName: String? { self[TaskNameKey.self] ?? self[DefaultTaskNameKey.self] }

  @usableFromInline
  enum TaskNameKey: Key {
    @inlinable static var defaultValue: String? { nil }
  }

  /// Written by each store, so that a task in another one's context has no name of that one's.
  @usableFromInline
  enum DefaultTaskNameKey: Key {
    @inlinable static var defaultValue: String? { nil }
  }

  @usableFromInline
  enum TaskPriorityKey: Key {
    @inlinable static var defaultValue: TaskPriority? { nil }
  }

  @usableFromInline
  enum TaskExecutorPreferenceKey: Key {
    @inlinable static var defaultValue: (any TaskExecutor)? { nil }
  }
}

// MARK: - Modifier

extension QueryRequest {
  /// Sets the name, priority and executor of the tasks of this query.
  ///
  /// - Parameter configuration: Supplies all three; no other value of its context is taken.
  public func taskConfiguration(
    _ configuration: QueryTaskConfiguration
  ) -> ModifiedQuery<Self, _TaskConfigurationModifier<Self>> {
    self.modifier(_TaskConfigurationModifier { $0.setTaskValues(of: configuration) })
  }

  /// Edits the name, priority and executor of the tasks of this query.
  ///
  /// - Parameter edit: Edits the configuration; called once for each store.
  public func taskConfiguration(
    _ edit: @escaping @Sendable (inout QueryTaskConfiguration) -> Void
  ) -> ModifiedQuery<Self, _TaskConfigurationModifier<Self>> {
    self.modifier(
      _TaskConfigurationModifier { context in
        var configuration = context.queryTaskConfiguration
        edit(&configuration)
        context.queryTaskConfiguration = configuration
      }
    )
  }
}

public struct _TaskConfigurationModifier<Query: QueryRequest>: _ContextUpdatingQueryModifier {
  let edit: @Sendable (inout QueryContext) -> Void

  public func setup(context: inout QueryContext) { self.edit(&context) }
}
