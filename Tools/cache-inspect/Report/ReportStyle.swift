/// The page's style sheet.
enum ReportStyle {
  /// CSS. It applies by the page's nonce, so nothing of the store is put into it.
  static let text = #"""

    /* Each colour in both schemes; the script sets data-theme where a person chooses one. All pairs
       of text and ground have a contrast of at least 4.5 to 1. */
    :root {
      color-scheme: light dark;
      --ground: light-dark(#f4f5f7, #0f1318);
      --card: light-dark(#ffffff, #181d24);
      --ink: light-dark(#1b1f24, #e6e9ee);
      --soft: light-dark(#57606a, #a3adba);
      --line: light-dark(#d5dae0, #303945);
      --track: light-dark(#e9ecf0, #262d37);
      --accent: light-dark(#0b62c4, #6cb0ff);
      --good: light-dark(#1a7f37, #4cc26a);
      --warn: light-dark(#8a5d00, #e3b341);
      --bad: light-dark(#b42318, #ff8a80);
      --other: light-dark(#6e7781, #8b95a3);
      --wait: light-dark(#b97a00, #e3b341);
      --mono: ui-monospace, "Cascadia Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
    }
    :root[data-theme="light"] { color-scheme: light; }
    :root[data-theme="dark"] { color-scheme: dark; }

    * { box-sizing: border-box; }
    body {
      margin: 0; background: var(--ground); color: var(--ink);
      font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
    }
    header, main { max-width: 1240px; margin: 0 auto; padding: 0 20px; }
    header { padding-top: 20px; }
    main { padding-bottom: 48px; }
    h1 { font-size: 24px; margin: 0; line-height: 1.3; }
    h2 { font-size: 19px; margin: 36px 0 12px; }
    h3, caption { font-size: 15px; font-weight: 600; margin: 0 0 10px; text-align: start; }
    section > h3 { margin-top: 24px; }
    a { color: var(--accent); }
    section, .card { scroll-margin-top: 12px; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
    .unseen {
      position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap;
    }
    .skip {
      position: absolute; left: 20px; top: -60px; background: var(--card); padding: 8px 12px;
    }
    .skip:focus { top: 8px; z-index: 1; }
    .note, .detail, .empty { color: var(--soft); }
    .note, .empty { margin: 0 0 10px; }
    .card > .empty:last-child { margin: 0; }
    .escape {
      font-family: var(--mono); font-size: 0.85em; color: var(--warn);
      border: 1px solid currentColor; border-radius: 3px; padding: 0 2px;
      white-space: nowrap;
    }

    /* The head of the page. */
    .heading { display: flex; flex-wrap: wrap; gap: 12px; justify-content: space-between; }
    .about { display: flex; flex-wrap: wrap; gap: 6px 32px; margin: 14px 0; }
    .about div { min-width: 0; }
    dt { color: var(--soft); font-size: 13px; }
    dd { margin: 0; overflow-wrap: anywhere; }
    nav { display: flex; flex-wrap: wrap; gap: 4px 18px; }
    nav a { padding: 4px 0; }
    .theme {
      display: flex; border: 1px solid var(--line); border-radius: 8px; padding: 2px; margin: 0;
      background: var(--card);
    }
    .theme legend { position: absolute; clip-path: inset(50%); }
    .theme input { position: absolute; opacity: 0; }
    .theme span { display: block; padding: 3px 12px; border-radius: 6px; cursor: pointer; }
    .theme :checked + span { background: var(--accent); color: var(--card); }
    .theme :focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px; }

    /* Totals. */
    .tiles {
      display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px;
      margin: 0;
    }
    .tile, .card {
      background: var(--card); border: 1px solid var(--line); border-radius: 10px;
      padding: 14px 16px;
    }
    .tile dd { font-size: 20px; font-weight: 600; line-height: 1.4; white-space: nowrap;
      font-variant-numeric: tabular-nums; }
    .tile.warn dd { color: var(--warn); }
    .tile.bad dd { color: var(--bad); }

    /* Charts: tables whose bars are drawings. */
    .grid {
      display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr));
      gap: 12px;
    }
    @media (min-width: 1100px) { .grid.broad { grid-template-columns: 5fr 4fr 3fr; } }
    .grid > * { min-width: 0; }
    .card > h3 + .empty { margin: 0; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    th { font-weight: 500; text-align: start; }
    .chart th, .chart td { padding: 4px 0; vertical-align: middle; }
    .chart th { padding-inline-end: 12px; white-space: nowrap; }
    /* A kind may have any name. */
    .chart th bdi {
      display: inline-block; width: max-content; max-width: 150px; white-space: normal;
      overflow-wrap: anywhere;
    }
    .chart .bar { width: 60%; }
    .chart svg, .line svg { display: block; overflow: visible; }
    .chart .value, .chart .detail {
      text-align: end; white-space: nowrap; padding-inline-start: 12px;
    }
    .chart .detail { font-size: 13px; }
    .track { fill: var(--track); }
    .fill { fill: var(--accent); }
    .chart thead th, .chart thead td { padding: 0; }
    .wide .chart th {
      white-space: normal; overflow-wrap: anywhere; width: 44%; font-family: var(--mono);
      font-size: 13px;
    }
    .wide .chart th bdi { width: auto; max-width: none; }
    .wide .chart .bar { width: 40%; }
    .wide .chart .detail { white-space: normal; overflow-wrap: anywhere; min-width: 74px; }
    details { margin-top: 12px; }
    summary { cursor: pointer; padding: 6px 0; color: var(--accent); }

    /* The timeline. */
    .legend {
      display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 12px; padding: 0;
      list-style: none;
    }
    .legend li {
      display: flex; align-items: center; gap: 6px; font-size: 13px; color: var(--soft);
    }
    .legend li::before {
      content: ""; width: 11px; height: 11px; border-radius: 3px; background: var(--swatch);
    }
    .legend .good { --swatch: var(--good); }
    .legend .other { --swatch: var(--other); }
    .legend .pending { --swatch: var(--wait); }
    .legend .leased { --swatch: var(--accent); }
    .legend .dead { --swatch: var(--bad); }
    .legend .now { --swatch: var(--ink); }
    .legend .now::before { width: 2px; }
    .lines { margin: 0; padding: 0; list-style: none; }
    .line, .axis {
      display: grid; grid-template-columns: 200px 1fr 220px; gap: 0 14px; align-items: center;
      margin: 0;
      padding: 3px 0;
    }
    .line .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .line .detail { font-size: 13px; overflow-wrap: anywhere; }
    .axis { grid-template-columns: auto auto; justify-content: space-between;
    margin: 0 234px 0 214px;
      font-size: 13px; color: var(--soft); }
    rect.good { fill: var(--good); }
    rect.other { fill: var(--other); }
    rect.pending { fill: var(--wait); }
    rect.leased { fill: var(--accent); }
    rect.dead { fill: var(--bad); }
    line.now { stroke: var(--ink); stroke-width: 1.5; }
    line.next { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 3 3; }
    circle.next { fill: var(--card); stroke: var(--soft); stroke-width: 1.5; }

    /* Tables to search. */
    .tools {
      display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; margin-bottom: 12px;
    }
    .tools label { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; }
    .tools p { margin: 0; color: var(--soft); }
    input[type="search"] {
      font: inherit; color: inherit; background: var(--ground); width: 280px; max-width: 100%;
      border: 1px solid var(--other); border-radius: 6px; padding: 5px 10px;
    }
    .scroll { overflow-x: auto; }
    .rows th, .rows td, .plain th, .plain td {
      padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top;
    }
    .rows thead th { white-space: nowrap; padding-bottom: 8px; }
    .rows tbody tr:last-child > *, .plain tbody tr:last-child > * { border-bottom: 0; }
    .plain thead th, .wide thead th { color: var(--soft); font-size: 13px; }
    .plain td, .plain tbody th { overflow-wrap: anywhere; min-width: 60px; }
    .plain tbody th { min-width: 150px; }
    .rows .right, .plain td:not(:first-child) { white-space: nowrap; }
    .rows .right { text-align: end; }
    .rows .tight { white-space: nowrap; }
    .rows .code, .rows .id { font-family: var(--mono); font-size: 13px; }
    .rows .id { white-space: nowrap; }
    /* As wide as the text, up to a bound: a column would else be as narrow as its longest word. */
    .rows bdi {
      display: inline-block; width: max-content; max-width: 220px; overflow-wrap: anywhere;
    }
    .rows .long bdi { max-width: 340px; }
    .rows .code bdi { max-width: 310px; }
    .rows .id bdi { max-width: none; }
    .rows .none { color: var(--soft); }
    .rows th button {
      font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 2px 0;
      cursor: pointer; white-space: nowrap;
    }
    .rows th button::after { content: "↕"; color: var(--soft); padding-inline-start: 5px; }
    .rows th[aria-sort="ascending"] button::after { content: "↑"; color: var(--accent); }
    .rows th[aria-sort="descending"] button::after { content: "↓"; color: var(--accent); }
    .chip {
      border: 1px solid currentColor; border-radius: 20px; padding: 1px 8px; font-size: 13px;
    }
    .chip.good { color: var(--good); }
    .chip.warn { color: var(--warn); }
    .chip.bad { color: var(--bad); }
    .chip.busy { color: var(--accent); }
    .more {
      font: inherit; color: var(--accent); background: none; border: 1px solid var(--line);
      border-radius: 6px; padding: 5px 14px; margin-top: 12px; cursor: pointer;
    }

    @media (max-width: 700px) {
      header, main { padding-inline: 12px; }
      .tile, .card { padding: 12px; }
      .tiles { grid-template-columns: repeat(2, 1fr); }
      .chart .bar { width: 40%; }
      .line { grid-template-columns: fit-content(55%) 1fr; padding: 6px 0; }
      .line svg { grid-row: 2; grid-column: 1 / -1; }
      .line { gap: 0 8px; }
      .line .detail { text-align: end; font-size: 12px; }
      .axis { margin: 0; }
      .axis span:last-child { text-align: end; }
      .tools label, input[type="search"] { width: 100%; }
      .rows .code bdi, .rows .long bdi { max-width: 230px; }
      .rows .text bdi { max-width: 150px; }
      /* The label above, so that the bar has the whole width. */
      .wide .chart tbody tr {
        display: grid; grid-template-columns: 1fr 90px 70px; align-items: center;
      }
      .wide .chart tbody { display: block; }
      .wide .chart th { grid-column: 1 / -1; width: auto; padding: 6px 0 0; }
      .wide .chart .bar { width: auto; }
    }
    @media print {
      .theme, nav, .tools, .more, .skip { display: none; }
      .scroll { overflow: visible; }
    }

    """#
}
