import CGTK

/// What a list shows in a row, which stays as long as its identifier does.
protocol ListRow: Identifiable<String>, Equatable {
  var title: String { get }
  var text: String { get }
  var mark: String { get }
  var isRefused: Bool { get }
}

/// A list view of pages of rows. A change inserts and removes what differs, and of the rows in view
/// those that differ are written anew, so that selection, focus and scroll position stay.
@MainActor
final class RowList<Row: ListRow> {
  /// A widget that GTK keeps for the rows in view, one after the other.
  @MainActor private struct Place {
    let ui = Interface(PackageResources.row_ui)
    var row: Row?
  }

  /// Called with the position of a row that comes into view.
  var onRowShown: (Int) -> Void = { _ in }
  /// Called when another row is selected, or none; not for what ``show(_:)`` does to the selection.
  var onSelection: (String?) -> Void = { _ in }

  private var pages = [[Row]]()
  private let model: OpaquePointer = gtk_string_list_new(nil)
  private let selection: OpaquePointer
  private let view: OpaquePointer
  /// By their list items.
  private var places = [UnsafeMutableRawPointer: Place]()
  private var isChanging = false

  /// - Parameter needsSelection: Whether one row is always selected, if there is one.
  init(in view: OpaquePointer, needsSelection: Bool) {
    self.view = view
    self.selection = gtk_single_selection_new(self.model)
    gtk_single_selection_set_autoselect(self.selection, needsSelection ? 1 : 0)
    gtk_single_selection_set_can_unselect(self.selection, needsSelection ? 0 : 1)
    let factory = gtk_signal_list_item_factory_new()
    for (signal, action) in ["setup": self.setUp, "bind": self.bind, "teardown": self.tearDown] {
      connect(UnsafeMutableRawPointer(factory), signal) { if let item = $0 { action(item) } }
    }
    gtk_list_view_set_factory(view, factory)
    gtk_list_view_set_model(view, self.selection)
    connect(UnsafeMutableRawPointer(self.selection), "notify::selected") { [unowned self] _ in
      if !self.isChanging { self.onSelection(self.selected) }
    }
  }

  var count: Int { self.pages.reduce(0) { $0 + $1.count } }

  var selected: String? { self[gtk_single_selection_get_selected(self.selection)]?.id }

  private subscript(position: guint) -> Row? {
    var rest = Int(position)
    for page in self.pages {
      if rest < page.count { return page[rest] }
      rest -= page.count
    }
    return nil
  }

  private func position(of id: String?) -> guint? {
    guard let id else { return nil }
    return self.pages.joined().enumerated().first { $0.element.id == id }.map { guint($0.offset) }
  }

  /// Selects a row; nil: none.
  func select(_ id: String?) {
    guard id != self.selected else { return }
    let position = self.position(of: id) ?? GTK_INVALID_LIST_POSITION
    gtk_single_selection_set_selected(self.selection, position)
  }

  /// Scrolls to a row.
  func reveal(_ id: String) {
    guard let position = self.position(of: id) else { return }
    gtk_widget_activate_action_variant(
      cgtk_widget(UnsafeMutableRawPointer(self.view)), "list.scroll-to-item",
      g_variant_new_uint32(position))
  }

  /// Shows other pages. Those that stay are not looked into: arrays that are equal are mostly the same one.
  func show(_ pages: [[Row]]) {
    let (oldPages, newPages) = differing(self.pages, pages)
    let old = self.pages[oldPages].joined().map(\.id)
    let new = pages[newPages].joined().map(\.id)
    let (removed, added) = differing(old, new)
    // First, since the list view asks for rows before the splice returns.
    (self.pages, self.isChanging) = (pages, true)
    if !removed.isEmpty || !added.isEmpty {
      let start = pages[..<newPages.lowerBound].reduce(removed.lowerBound) { $0 + $1.count }
      var texts = new[added].map { UnsafePointer(strdup($0)) } + [nil]
      gtk_string_list_splice(self.model, guint(start), guint(removed.count), &texts)
      for text in texts { free(UnsafeMutableRawPointer(mutating: text)) }
    }
    self.isChanging = false
    for item in self.places.keys { self.write(item) }
  }
}

/// Where two arrays differ: all between the first elements that do and the last ones. With one change, that
/// alone.
private func differing<Element: Equatable>(
  _ old: [Element], _ new: [Element]
) -> (Range<Int>, Range<Int>) {
  let head = zip(old, new).prefix { $0 == $1 }.count
  let rest = min(old.count, new.count) - head
  let tail = zip(old.reversed(), new.reversed()).prefix(rest).prefix { $0 == $1 }.count
  return (head..<(old.count - tail), head..<(new.count - tail))
}

// MARK: - What the list view asks for

extension RowList {
  private func setUp(_ item: UnsafeMutableRawPointer) {
    let place = Place()
    self.places[item] = place
    gtk_list_item_set_child(OpaquePointer(item), place.ui.widget("row"))
  }

  private func bind(_ item: UnsafeMutableRawPointer) {
    self.write(item)
    self.onRowShown(Int(gtk_list_item_get_position(OpaquePointer(item))))
  }

  private func tearDown(_ item: UnsafeMutableRawPointer) {
    self.places.removeValue(forKey: item)?.ui.release()
  }

  private func write(_ item: UnsafeMutableRawPointer) {
    guard let row = self[gtk_list_item_get_position(OpaquePointer(item))],
      let place = self.places[item], row != place.row
    else { return }
    self.places[item]?.row = row
    place.ui.setText(of: "title", to: row.title)
    place.ui.setText(of: "text", to: row.text)
    place.ui.setText(of: "mark", to: row.mark)
    place.ui.setClass("refused", of: "mark", to: row.isRefused)
  }
}
