#!/usr/bin/python3
"""Drives the window of field-notes-gtk as a person would, under Xvfb, and reads it as a screen reader does.

The keyboard is xdotool's, the reading that of the accessibility tree; the server is the demo's. With
--pictures it takes pictures for people instead. Tools/test --desktop runs it.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(PACKAGE, "..", "field-notes", "server", "field_notes_server.py")

# A person would have given up; nothing is measured by it.
PATIENCE = 60


class Failure(Exception):
    """What was to be seen was not."""


def wait(what, look):
    """Looks again and again until there is something; returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise Failure(f"there is no {what}")


class Server:
    """The demo's server, which can be stopped and started again with what it had."""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, 0, None

    def start(self, *options):
        self.process = subprocess.Popen(
            [sys.executable, SERVER, "--port", str(self.port), "--data", f"{self.folder}/notes.db",
             "--log", f"{self.folder}/log", "--iso-codes", "/none", *options],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rpartition(":")[2])

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def post(self, folder, title, text):
        body = json.dumps({"folder": folder, "title": title, "text": text}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/notes", body)) as answer:
            return json.load(answer)["id"]

    def delete(self, note):
        request = urllib.request.Request(f"{self.url}/notes/{note}", method="DELETE")
        urllib.request.urlopen(request).read()

    def done(self, text):
        """How many writes with this text were carried out."""
        with open(f"{self.folder}/log", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return sum(line["did"] == "done" and line["text"] == text for line in lines)


class Window:
    """A run of the program, and its window."""

    def __init__(self, program, server, folder, theme="Adwaita", width=1000, height=640):
        environment = dict(os.environ, GSK_RENDERER="cairo", GTK_THEME=theme, GTK_A11Y="atspi")
        self.process = subprocess.Popen(
            [program, "--server", server.url, "--store", f"{folder}/store"], env=environment)
        self.number = wait("window", self.find_window)
        # There is no window manager.
        self.xdotool("windowsize", "--sync", self.number, str(width), str(height))
        self.xdotool("windowmove", self.number, "0", "0")
        self.xdotool("windowfocus", "--sync", self.number)

    @staticmethod
    def xdotool(*words):
        return subprocess.run(["xdotool", *words], capture_output=True, text=True).stdout.split()

    def find_window(self):
        if self.process.poll() is not None:
            raise Failure(f"the program ended by itself, with {self.process.returncode}")
        found = self.xdotool("search", "--onlyvisible", "--pid", str(self.process.pid))
        return found and found[-1]

    def keys(self, *names):
        self.xdotool("key", "--delay", "20", *names)

    def type(self, text):
        self.xdotool("type", "--delay", "8", text)

    def click(self, x, y):
        self.xdotool("mousemove", "--window", self.number, str(x), str(y), "click", "1")

    def enter(self, title, text):
        self.keys("ctrl+n")
        self.type(title)
        self.keys("Tab")
        self.type(text)
        self.keys("Return")

    def accessibles(self):
        """All parts of the program that a screen reader finds."""
        desktop = Atspi.get_desktop(0)
        for index in range(desktop.get_child_count()):
            application = desktop.get_child_at_index(index)
            if application and application.get_process_id() == self.process.pid:
                yield from self.below(application)

    def below(self, accessible):
        yield accessible
        for index in range(accessible.get_child_count()):
            child = accessible.get_child_at_index(index)
            if child:
                yield from self.below(child)

    def texts(self):
        """What is written; GTK's tree has no parts that are not visible."""
        names = []
        with contextlib.suppress(gi.repository.GLib.Error):
            for accessible in self.accessibles():
                name = accessible.get_name()
                if name:
                    names.append(name)
        return names

    def see(self, *texts):
        """Waits until all of the texts are parts of what is seen."""
        for text in texts:
            try:
                wait(f"'{text}'", lambda: any(text in seen for seen in self.texts()))
            except Failure as failure:
                raise Failure(f"{failure}; seen is {self.texts()}") from None

    def see_no(self, text):
        wait(f"window without '{text}'", lambda: not any(text in seen for seen in self.texts()))

    def press(self, label):
        def find():
            with contextlib.suppress(gi.repository.GLib.Error):
                for accessible in self.accessibles():
                    if accessible.get_name() == label and accessible.get_n_actions() > 0:
                        return accessible
            return None
        wait(f"button {label}", find).do_action(0)

    def picture(self, path, width, height):
        time.sleep(1.5)  # for animations
        subprocess.run(["import", "-window", self.number, "-crop", f"{width}x{height}+0+0", path],
                       check=True)
        # From 0, black, to 1, white.
        return float(subprocess.run(["identify", "-format", "%[fx:mean]", path], check=True,
                                    capture_output=True, text=True).stdout)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def expect(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: {found}, and not {expected}")


def story(program, folder):
    server = Server(folder)
    server.start()
    # More than two pages of the server's, in the folder that is the first.
    for number in range(1, 121):
        server.post("A list", f"Note {number:03}", "")
    window = Window(program, server, folder)
    try:
        window.see("Note 001", "Online", "fetched just now", "Birds")
        window.see("Note 120")
        print("online: the list is there, with its third page")
        note = server.post("A list", "From elsewhere", "by another device")
        window.see("From elsewhere", "by another device")
        print("online: what another device enters comes by itself")
        server.delete(note)
        window.see_no("From elsewhere")
        window.click(600, 75)
        window.see("Save")
        window.click(400, 580)
        window.keys("ctrl+a")
        window.type("edited")
        window.keys("Return")
        window.see("edited")
        wait("edit on the server", lambda: server.done("edited") == 1)
        window.click(885, 580)
        window.see_no("Note 001")
        print("a note was edited, and deleted")

        window.enter("First note", "one")
        window.see("First note")
        wait("write on the server", lambda: server.done("one") == 1)
        window.see_no("not sent")
        print("a note was entered, and is sent")

        server.stop()
        window.enter("Second note", "two")
        window.see("Second note", "not sent", "1 not sent")
        window.kill()
        print("offline: a note was entered; the program was killed")

        window = Window(program, server, folder)
        window.see("Second note", "First note", "1 not sent", "Offline")
        print("started again offline: the note is there")

        server.start()
        window.keys("F5")
        window.see("Online")
        window.see_no("not sent")
        expect(server.done("one"), 1, "how often the first note was carried out")
        expect(server.done("two"), 1, "how often the second note was carried out")
        window.see("Second note")
        print("online: it was sent, once")

        server.stop()
        server.start("--status", "422")
        window.enter("Third note", "three")
        window.see("A new note was refused", "Third note", "refused")
        window.press("Discard")
        window.see_no("Third note")
        print("a note that the server refused was shown as such, and discarded")

        expect(window.end(), 0, "the exit code after SIGTERM")
        print("SIGTERM: ended in order")
    finally:
        window.kill()
        server.stop()


GARDEN = [
    ("Apple trees, west row", "Thinned on Monday; two with scab, marked with tape"),
    ("Beans", "Third sowing is up, the first can be picked"),
    ("Compost", "58 °C in the middle, turned"),
    ("Fence by the brook", "Two posts are rotten, order oak"),
    ("Greenhouse", "Vent on the north side sticks again"),
    ("Hedge", "Blackbird sits on four eggs: not before July"),
    ("Meadow", "First cut done, hay is dry"),
    ("Pump", "Runs dry after 20 minutes, well is low"),
    ("Tomatoes", "San Marzano tied up; first fruit set"),
]


def pictures(program, folder, target):
    """Takes the window light and dark, wide and narrow, with notes that are not sent."""
    os.makedirs(target, exist_ok=True)
    server = Server(folder)
    server.start()
    for title, text in GARDEN:
        server.post("A garden", title, text)
    window = Window(program, server, folder, width=1280, height=800)
    window.see("Tomatoes", "Online")
    server.stop()
    window.enter("Slugs", "Forty at the lettuce after the rain, all of them Spanish")
    window.enter("Rain", "22 mm since yesterday evening")
    window.see("2 not sent")
    window.kill()
    try:
        for theme, name in [("Adwaita", "light"), ("Adwaita:dark", "dark")]:
            for width, height in [(1280, 800), (480, 800)]:
                window = Window(program, server, folder, theme, width, height)
                window.see("2 not sent", "Offline")
                window.see("Tomatoes", "Rain", "Title")
                brightness = window.picture(f"{target}/{name}-{width}.png", width, height)
                expect(brightness > 0.5, name == "light", f"that {name}-{width}.png is light")
                window.kill()
        server.start("--status", "422")
        window = Window(program, server, folder, width=480, height=800)
        window.keys("F5")
        window.see("A new note was refused")
        window.picture(f"{target}/refused-480.png", 480, 800)
        print("light and dark, wide and narrow: pictures were taken")
    finally:
        window.kill()
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default=f"{PACKAGE}/.build/debug/field-notes-gtk")
    parser.add_argument("--pictures", metavar="FOLDER", help="take pictures, and drive nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if arguments.pictures:
                pictures(arguments.program, folder, arguments.pictures)
            else:
                story(arguments.program, folder)
        except Failure as failure:
            print(f"drive: {failure}", file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
