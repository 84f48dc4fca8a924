import CProbes
import FoundationEssentials

/// The static probes of queries and of mutations: what `Tools/probes` watches in a running program.
enum Probes {
  /// The number of an object, as long as it lives.
  static func number(of object: AnyObject) -> UInt64 {
    UInt64(UInt(bitPattern: ObjectIdentifier(object)))
  }
}

extension UUID {
  /// What a probe calls a mutation: its first eight bytes.
  package var probeNumber: UInt64 {
    withUnsafeBytes(of: self.uuid) { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
  }
}
