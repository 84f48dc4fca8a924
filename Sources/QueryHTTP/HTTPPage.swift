public import Foundation

/// A page of a list that itself says which page follows. ``HTTPPages`` of such pages need no closures, so
/// a pack can store them and go on with them in a later launch.
///
/// ```swift
/// struct NotesPage: HTTPPage {
///   static let firstPageID = 1
///   var notes: [String]
///   var next: Int?
///
///   static func url(of id: Int, in list: URL) -> URL {
///     list.appending(queryItems: [URLQueryItem(name: "page", value: "\(id)")])
///   }
///
///   func pageID(after id: Int) -> Int? { self.next }
/// }
/// ```
public protocol HTTPPage: Codable, Sendable {
  /// The identifier of a page.
  associatedtype PageID: Codable & Hashable & Sendable

  /// The page that a list starts with.
  static var firstPageID: PageID { get }

  /// The URL of a page.
  ///
  /// - Parameters:
  ///   - id: The page.
  ///   - list: The URL of the list.
  static func url(of id: PageID, in list: URL) -> URL

  /// The page after this one; nil if it is the last one.
  ///
  /// - Parameter id: This page.
  func pageID(after id: PageID) -> PageID?

  /// The page before this one; nil, as by default, if it is the first one.
  ///
  /// - Parameter id: This page.
  func pageID(before id: PageID) -> PageID?
}

extension HTTPPage {
  public func pageID(before id: PageID) -> PageID? { nil }
}
