import Foundation

/// Runs a closure while the process can open no file. For exit tests, since it concerns all threads.
func withoutDescriptors<R>(_ body: () async throws -> R) async rethrows -> R {
  let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var limit = rlimit()
  getrlimit(files, &limit)
  let usual = limit.rlim_cur
  limit.rlim_cur = 0
  setrlimit(files, &limit)
  defer {
    limit.rlim_cur = usual
    setrlimit(files, &limit)
  }
  return try await body()
}
