/// The page's script.
enum ReportScript {
  /// JavaScript. It runs by the page's nonce, so nothing of the store is put into it.
  ///
  /// Texts of the store reach the page as the content of text nodes alone; no markup is made of
  /// them.
  static let text = #"""

    "use strict";
    (() => {
      const data = JSON.parse(document.getElementById("data").textContent);
      const now = data.madeAt.seconds;
      // How many rows a table begins with, and how many each press of its button adds.
      const firstRows = 25, moreRows = 100;

      // MARK: Texts

      // Control and format characters but for the joiners, as on the page's other parts.
      const unseen = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;
      const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

      const escaped = (character) => short[character]
        ?? `\\u{${character.codePointAt(0).toString(16).toUpperCase()}}`;

      // Appends a text; what cannot be seen stands as a marked escape.
      const show = (element, text) => {
        let end = 0;
        for (const match of text.matchAll(unseen)) {
          element.append(text.slice(end, match.index));
          const mark = document.createElement("span");
          mark.className = "escape";
          mark.textContent = escaped(match[0]);
          element.append(mark);
          end = match.index + match[0].length;
        }
        element.append(text.slice(end));
      };

      // MARK: Numbers

      const units = ["B", "KiB", "MiB", "GiB", "TiB"];
      const size = (bytes) => {
        let value = bytes, unit = 0;
        while (Math.abs(value) >= 1023.5 && unit < units.length - 1) { value /= 1024; unit += 1; }
        if (unit === 0) return `${bytes} B`;
        const places = Math.abs(value) >= 99.95 ? 1 : 10;
        const rounded = Math.round(value * places) / places;
        return `${rounded.toFixed(Number.isInteger(rounded) ? 0 : 1)} ${units[unit]}`;
      };
      const count = (number) => number.toLocaleString("en-US");
      const rows = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;
      const steps = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
      const age = (seconds) => {
        if (seconds < 1) return seconds < -1 ? "in the future" : "now";
        const [unit, length] = steps.find((step) => seconds >= step[1]);
        return `${count(Math.floor(seconds / length))} ${unit} ago`;
      };
      const duration = (seconds) => {
        if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
        if (seconds < 60) return `${seconds.toFixed(1)} s`;
        return `${count(Math.floor(seconds / 60))} min ${Math.floor(seconds % 60)} s`;
      };

      // MARK: Forms of a column

      const chips = {
        fresh: "good", succeeded: "good", stale: "warn", invalidated: "warn", pending: "warn",
        leased: "busy", dead: "bad", error: "bad",
      };
      const day = (value) => value.text.slice(0, 19).replace("T", " ");
      // What each form sorts by and shows, and the class of its cells. Numbers are first sorted with the
      // largest in front.
      const forms = {
        text: { key: (value) => value, text: (value) => value, style: "text", isForeign: true },
        long: { key: (value) => value, text: (value) => value, style: "long", isForeign: true },
        code: { key: (value) => value, text: (value) => value, style: "code", isForeign: true },
        id: { key: (value) => value, text: (value) => value, style: "id", isForeign: true },
        partition: { key: (value) => value, text: (value) => value || "(default)", style: "text",
          isForeign: true },
        chip: { key: (value) => value, text: (value) => value, style: "tight" },
        ordinal: { key: (value) => value, text: String, style: "tight" },
        size: { key: (value) => value, text: size, style: "right", isNumber: true },
        number: { key: (value) => value, text: count, style: "right", isNumber: true },
        date: { key: (value) => value.seconds, text: day, style: "tight", isNumber: true },
        age: { key: (value) => now - value.seconds, text: (value) => age(now - value.seconds),
          style: "right", isNumber: true },
        duration: { key: (value) => value, text: duration, style: "right", isNumber: true },
      };

      const cell = (column, value) => {
        const element = document.createElement("td");
        element.className = column.form.style;
        if (value === undefined || value === null) {
          element.textContent = "–";
          element.classList.add("none");
          return element;
        }
        const text = column.form.text(value);
        let target = element;
        if (column.name === "chip") {
          target = document.createElement("span");
          // Of known states alone, since any other word could be the name of some other class.
          target.className = Object.hasOwn(chips, text) ? `chip ${chips[text]}` : "chip";
          element.append(target);
        } else if (column.name === "date") {
          target = document.createElement("time");
          target.dateTime = value.text;
          element.append(target);
        } else if (column.form.isForeign) {
          // A text from right to left must not turn its neighbours.
          target = document.createElement("bdi");
          element.append(target);
        }
        show(target, text);
        return element;
      };

      // MARK: Tables

      const collator = new Intl.Collator(undefined, { numeric: true });
      const compare = (a, b) => typeof a === "number" ? a - b : collator.compare(a, b);

      const setUp = (card) => {
        const all = data[card.dataset.source]
          .filter((row) => !card.dataset.state || row.state === card.dataset.state);
        const search = card.querySelector("input");
        const status = card.querySelector("[role=status]");
        const body = card.querySelector("tbody");
        const more = card.querySelector(".more");
        const heads = [...card.querySelectorAll("thead th")];
        const columns = heads.map((head) => (
          { key: head.dataset.key, name: head.dataset.form, form: forms[head.dataset.form] }));
        // What a search looks through: every column as it is shown, in lower case.
        const texts = new Map(all.map((row) => [row, columns.map((column) => {
          const value = row[column.key];
          return value === undefined || value === null ? "" : column.form.text(value);
        }).join("\u0000").toLowerCase()]));
        let order = null, shown = firstRows, found = all;

        const addRows = (from) => {
          const lines = document.createDocumentFragment();
          for (const row of found.slice(from, shown)) {
            const line = document.createElement("tr");
            for (const column of columns) line.append(cell(column, row[column.key]));
            lines.append(line);
          }
          body.append(lines);
          const rest = found.length - Math.min(shown, found.length);
          more.hidden = rest === 0;
          more.textContent = `Show ${count(Math.min(rest, moreRows))} more`;
          const visible = found.length - rest;
          const part = found.length === all.length
            ? rows(all.length) : `${count(found.length)} of ${rows(all.length)}`;
          status.textContent = rest === 0 ? part : `${part}, the first ${count(visible)} shown`;
        };

        const render = () => {
          const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
          found = all.filter((row) => words.every((word) => texts.get(row).includes(word)));
          if (order) {
            const { key, form } = columns[order.index];
            const value = (row) => {
              const value = row[key];
              return value === undefined || value === null ? undefined : form.key(value);
            };
            // What has no value comes last in both directions.
            found.sort((a, b) => {
              const x = value(a), y = value(b);
              if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
              return order.sign * compare(x, y);
            });
          }
          shown = firstRows;
          body.replaceChildren();
          addRows(0);
        };

        const sortBy = (index) => {
          const first = columns[index].form.isNumber ? -1 : 1;
          order = { index, sign: order?.index === index ? -order.sign : first };
          heads.forEach((head, other) => {
            if (other === index) {
              head.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
            } else {
              head.removeAttribute("aria-sort");
            }
          });
          render();
        };

        heads.forEach((head, index) => {
          if (columns[index].form.style === "right") head.classList.add("right");
          const button = document.createElement("button");
          button.type = "button";
          button.textContent = head.textContent;
          button.addEventListener("click", () => sortBy(index));
          head.replaceChildren(button);
        });
        search.addEventListener("input", render);
        more.addEventListener("click", () => {
          const from = shown;
          shown += moreRows;
          addRows(from);
          // With the last rows the button goes, and the focus with it.
          if (more.hidden) search.focus({ preventScroll: true });
        });
        render();
      };

      document.querySelectorAll(".card.table").forEach(setUp);

      // MARK: Light and dark

      const choices = [...document.querySelectorAll("input[name=theme]")];
      const storageKey = "cache-inspect-theme";
      const setTheme = (name) => {
        if (name === "auto") delete document.documentElement.dataset.theme;
        else document.documentElement.dataset.theme = name;
      };
      // A page from a file may have no storage; the choice then lasts as long as the page.
      const remember = (name) => {
        try { localStorage.setItem(storageKey, name); } catch {}
      };
      const remembered = () => {
        try { return localStorage.getItem(storageKey); } catch { return null; }
      };
      for (const choice of choices) {
        choice.addEventListener("change", () => {
          setTheme(choice.value);
          remember(choice.value);
        });
        if (choice.value === remembered()) {
          choice.checked = true;
          setTheme(choice.value);
        }
      }
    })();

    """#
}
