import CGTK
import Query

/// The window: it shows what the models tell, and tells them what the user does.
@MainActor
final class NotesWindow {
  let ui = Interface(PackageResources.window_ui)
  private let notes: NotesModel
  private let folderList: RowList
  private let noteList: RowList
  private var following = [Task<Void, Never>]()
  private var isNarrow = false
  /// The note in the editor, as it was put there.
  private var edited: Note?

  init(_ notebook: Notebook, in application: UnsafeMutablePointer<GtkApplication>) {
    self.notes = NotesModel(notebook)
    self.folderList = RowList(in: self.ui.opaque("folders"), needsSelection: true)
    self.noteList = RowList(in: self.ui.opaque("notes"), needsSelection: false)
    self.handleInput()
    // At once, so that the window does not open empty.
    self.show(self.notes.folders)
    self.show(self.notes.pages)
    self.followModels()
    gtk_window_set_application(cgtk_window(self.ui["window"]), application)
  }

  func present() {
    gtk_window_present(cgtk_window(self.ui["window"]))
    let surface = gtk_native_get_surface(self.ui.opaque("window"))
    connect(UnsafeMutableRawPointer(surface), "layout") { [unowned self] _ in self.fitWidth() }
    self.beginNote()
  }

  /// What follows a store keeps it, so a window that is closed follows nothing.
  private func close() {
    for task in self.following { task.cancel() }
    self.notes.outgoing.close()
  }

  /// A narrow window has no room for the folders beside the notes: they come when they are asked for.
  private func fitWidth() {
    let isNarrow = gtk_widget_get_width(self.ui.widget("window")) < 600
    if isNarrow != self.isNarrow { self.showFolders(!isNarrow) }
    self.isNarrow = isNarrow
  }

  private func showFolders(_ isShown: Bool) {
    gtk_toggle_button_set_active(cgtk_toggle_button(self.ui["folders-toggle"]), isShown ? 1 : 0)
  }
}

// MARK: - From the models to the widgets

extension NotesWindow {
  private func followModels() {
    let (notes, ui) = (self.notes, self.ui)
    self.following = [
      follow(notes, \.folders) { [unowned self] in self.show($0) },
      follow(notes, \.pages) { [unowned self] in self.show($0) },
      follow(notes, \.selected) { [unowned self] in self.edit($0) },
      follow(notes, \.folder) { ui.setText(of: "folder-title", to: $0 ?? "Field notes") },
      follow(notes, \.isLoading) { gtk_spinner_set_spinning(ui.opaque("spinner"), $0 ? 1 : 0) },
      follow(notes, \.status) { ui.setText(of: "status", to: $0) },
      follow(notes, \.isConnected) { isConnected in
        ui.setText(of: "connection", to: isConnected ? "● Online" : "● Offline")
        ui.setClass("offline", of: "connection", to: !isConnected)
      },
      follow(notes.outgoing, \.refusal) { refusal in
        if let refusal { ui.setText(of: "refused-text", to: refusal) }
        gtk_revealer_set_reveal_child(ui.opaque("refused"), refusal == nil ? 0 : 1)
      },
      // The age grows without a change.
      Task {
        while (try? await Task.sleep(for: .seconds(10))) != nil {
          ui.setText(of: "status", to: notes.status)
        }
      },
    ]
  }

  private func show(_ folders: [Folder]) {
    self.folderList.show(folders.map(\.name)) {
      .init(title: folders[$0].name, mark: "\(folders[$0].count)")
    }
    // The list selects the first one by itself.
    self.notes.open(self.folderList.selected)
  }

  private func show(_ pages: FolderNotesQuery.State.StateValue) {
    let (notes, shownCount) = (pages.flatMap(\.value.notes), self.noteList.ids.count)
    self.noteList.show(notes.map(\.id)) {
      let note = notes[$0]
      return .init(
        title: note.title, text: note.text, mark: note.unsent?.rawValue ?? "",
        isRefused: note.unsent == .refused)
    }
    self.noteList.select(self.notes.selectedId.map(self.notes.nameInList(of:)))
    self.notes.selectedId = self.noteList.selected
    self.ui.setText(of: "placeholder", to: notes.isEmpty ? "No notes" : "")
    // What was just entered comes into view.
    if notes.count == shownCount + 1, let new = notes.last(where: { $0.unsent != nil }) {
      self.noteList.reveal(new.id)
    }
  }

  /// Shows a note in the editor; nil: room for a new one. What the user types stays as long as the note
  /// does.
  private func edit(_ note: Note?) {
    let old = self.edited
    self.edited = note
    if note?.title == old?.title, note?.text == old?.text { return }
    gtk_editable_set_text(self.ui.opaque("title"), note?.title ?? "")
    gtk_editable_set_text(self.ui.opaque("text"), note?.text ?? "")
    // The server lets a note keep its title.
    gtk_widget_set_sensitive(self.ui.widget("title"), note == nil ? 1 : 0)
    self.ui.setVisible("delete", note != nil)
    gtk_button_set_label(cgtk_button(self.ui["save"]), note == nil ? "Add" : "Save")
  }
}

// MARK: - From the widgets to the models

extension NotesWindow {
  private func handleInput() {
    let notes = self.notes
    self.folderList.onSelection = { [unowned self] folder in
      notes.open(folder)
      if self.isNarrow { self.showFolders(false) }
    }
    self.noteList.onSelection = { notes.selectedId = $0 }
    // Before the end is in view, so that the user need not wait for the next page.
    self.noteList.onRowShown = { [unowned self] in
      if $0 + 20 > self.noteList.ids.count { notes.fetchNextPage() }
    }
    for (id, signal) in [("save", "clicked"), ("title", "activate"), ("text", "activate")] {
      connect(self.ui[id], signal) { [unowned self] _ in self.save() }
    }
    connect(self.ui["delete"], "clicked") { _ in notes.selectedId.map(notes.delete) }
    connect(self.ui["retry"], "clicked") { _ in notes.outgoing.retry() }
    connect(self.ui["discard"], "clicked") { _ in notes.outgoing.discard() }
    connect(self.ui["window"], "destroy") { [unowned self] _ in self.close() }
  }

  /// Lets the user enter a new note.
  func beginNote() {
    self.noteList.select(nil)
    gtk_widget_grab_focus(self.ui.widget("title"))
  }

  func refresh() { self.notes.refresh() }

  private func save() {
    let title = String(cString: gtk_editable_get_text(self.ui.opaque("title")))
    let text = String(cString: gtk_editable_get_text(self.ui.opaque("text")))
    if let edited { return self.notes.edit(edited.id, text: text) }
    if title.isEmpty { return }
    self.notes.add(title, text: text)
    for id in ["title", "text"] { gtk_editable_set_text(self.ui.opaque(id), "") }
    self.beginNote()
  }
}
