import Glibc
import Query
import QueryReplay

/// A program that links the engine and the replayer, and prints which shared libraries that loads.
@main
struct LibraryLister {
  static func main() {
    // Used, or the linker would leave the modules out.
    let replayer = MutationReplayer(client: QueryClient(storage: MemoryQueryStorage()))
    withExtendedLifetime(replayer) {}
    var names = Set<String>()
    guard let file = fopen("/proc/self/maps", "r") else { exit(1) }
    while let line = readLine(of: file) {
      let name = line.split(separator: "/").last.map(String.init) ?? ""
      if name.contains(".so") { names.insert(name) }
    }
    fclose(file)
    for name in names.sorted() { print(name) }
  }

  private static func readLine(of file: UnsafeMutablePointer<FILE>) -> String? {
    var bytes = [UInt8]()
    while true {
      let byte = fgetc(file)
      if byte == EOF { return nil }
      if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(UInt8(byte))
    }
  }
}
