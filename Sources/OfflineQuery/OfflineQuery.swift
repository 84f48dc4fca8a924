/// All that a program needs that works without a network, by one import: the engine, the storage on
/// disk, the replayer of what waits there, and the observer of the system's network.
///
/// `QueryHTTP` is not among them, since it loads `FoundationNetworking` and with that libcurl, which a
/// program with another transport does without; nor is `Operation`, the same engine under other names.
@_exported public import Query
@_exported public import QueryReplay
@_exported public import QuerySQLite
@_exported public import SystemNetwork
