import ToolSupport

@main
struct CacheInspect {
  static func main() {}
}
