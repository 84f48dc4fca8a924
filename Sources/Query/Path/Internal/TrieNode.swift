/// One element of a path in a ``PathTrie``, with everything at and below the path that ends in it.
@usableFromInline
package final class TrieNode<Element> {
  @usableFromInline
  package let key: QueryPath.Element

  /// The hash of `key`, kept so that no move of the node computes it again.
  @usableFromInline
  package let hash: UInt

  // Not checked at run time: see the branches.
  @usableFromInline
  @exclusivity(unchecked)
  package var trie: PathTrie<Element>

  @inlinable
  init(key: QueryPath.Element, hash: UInt, trie: PathTrie<Element>) {
    self.key = key
    self.hash = hash
    self.trie = trie
  }

  @inlinable
  func matches(_ key: QueryPath.Element, hash: UInt) -> Bool {
    self.hash == hash && self.key == key
  }
}

// Safe to share: a node is changed only while a single reference to it exists.
extension TrieNode: @unchecked Sendable where Element: Sendable {}
