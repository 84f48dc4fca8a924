/// Requests made of functions, and properties of the context made of variables. It brings `Query` with
/// it.
@_exported public import Query

/// Makes a query of an async function.
///
/// ```swift
/// @QueryRequest(path: ["posts"])
/// func post(id: Int, context: QueryContext) async throws -> Post {
///   try await context.api.post(id)
/// }
///
/// let store = client.store(for: $post(id: 1).stale(after: 60).persisted())
/// ```
/// `$post` takes what the function takes, but for a `QueryContext` and a `QueryContinuation`, which each
/// fetch gives. A function without other parameters becomes a variable, `$posts`.
///
/// The path is the identity of the query: the elements that are given, and then the arguments in their
/// order, so that `$post(id: 1)` above has the path `["posts", 1]`. An argument is therefore `Hashable`
/// and `Sendable`. The function is global or static, and takes all that its value depends on as
/// arguments or from the context.
///
/// - Parameter path: What the path begins with.
@attached(peer, names: prefixed(`$`))
public macro QueryRequest(path: QueryPath) =
  #externalMacro(module: "QueryMacroPlugin", type: "QueryRequestMacro")

/// Makes a query of an async function, with a path in which the arguments have places of their own.
///
/// ```swift
/// @QueryRequest(path: { (user: Int, page: Int) in ["users", user, "posts", page] })
/// func posts(of user: Int, page: Int) async throws -> [Post] { … }
///
/// client.invalidate(matching: ["users", 7])
/// ```
/// An argument that the path leaves out is refused, unless the closure names it `_`: then requests that
/// differ in it alone share a store.
///
/// - Parameter path: Makes the path of the function's arguments. It takes each, with the same type and in
///   the same order, but for the context and the continuation.
@attached(peer, names: prefixed(`$`))
public macro QueryRequest<each Argument>(path: (repeat each Argument) -> QueryPath) =
  #externalMacro(module: "QueryMacroPlugin", type: "QueryRequestMacro")

/// Without a path this is an error, which offers one.
@attached(peer, names: prefixed(`$`))
public macro QueryRequest() =
  #externalMacro(module: "QueryMacroPlugin", type: "QueryRequestMacro")

/// Makes a mutation of an async function.
///
/// ```swift
/// @MutationRequest(path: ["create-post"])
/// func createPost(title: String, context: QueryContext) async throws -> Post {
///   try await context.api.createPost(title, key: context.mutationAttempt?.idempotencyKey)
/// }
///
/// let create = $createPost.persisted(as: "create-post")
/// try await client.store(for: create).submit(with: "Hello")
/// ```
/// The function takes the arguments of an attempt as one value, or none, and a `QueryContext` and a
/// `QueryContinuation` if it wants them. What it needs belongs to the arguments or to the context.
///
/// - Parameter path: The identity of the mutation.
@attached(peer, names: prefixed(`$`))
public macro MutationRequest(path: QueryPath) =
  #externalMacro(module: "QueryMacroPlugin", type: "MutationRequestMacro")

/// Without a path this is an error, which offers one.
@attached(peer, names: prefixed(`$`))
public macro MutationRequest() =
  #externalMacro(module: "QueryMacroPlugin", type: "MutationRequestMacro")

/// Makes a variable in an extension of `QueryContext` a property of the context.
///
/// ```swift
/// extension QueryContext {
///   @ContextEntry var pageSize = 20
///   @ContextEntry var api: any API = WebAPI()
///   @ContextEntry var token: String?
/// }
/// ```
/// A context has the default if nobody has set the property. The default is made once, when it is first
/// asked for, and is the same for all contexts; an optional has nil.
@attached(accessor, names: named(get), named(set))
@attached(peer, names: prefixed(__Key_), prefixed(__default_))
public macro ContextEntry() =
  #externalMacro(module: "QueryMacroPlugin", type: "ContextEntryMacro")
