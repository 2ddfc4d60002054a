"""Draws decode speed by depth from a table of measured figures, as a picture that follows light and dark.

tests/plot.py docs/decode.csv > docs/decode.svg

Comes in: lines of engine,depth,tokens_per_second,card,date, an engine's lines in the order of their depths. Its colour
and its dashes are in STYLES."""
import collections
import csv
import io
import sys

WIDTH, HEIGHT = 820, 460
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 76, 58
LABEL = 17  # height of a label

# Class of CSS for each engine, and the colours in light and in dark.
STYLES = {
    "read floor": ("floor", "#59636e", "#9198a1"),
    "qwen600": ("ours", "#0550ae", "#6cb6ff"),
    "llama.cpp": ("llama", "#953800", "#f0a05a"),
    "qwen_megakernel": ("mega", "#116329", "#57ab5a"),
    "transformers": ("hf", "#8250df", "#c9a5ff"),
}
OTHER = ("other", "#82071e", "#ff938a")


def read_figures(text):
    """{engine: [(depth, tokens/s)]} and the sentence that says on what and when."""
    figures, measured = collections.OrderedDict(), collections.OrderedDict()
    try:
        for row in csv.DictReader(io.StringIO(text), strict=True):
            depth, speed = int(row["depth"]), float(row["tokens_per_second"])
            if depth < 0 or not 0 < speed < 1e6:
                raise ValueError("no speed: %s" % row)
            figures.setdefault(row["engine"], []).append((depth, speed))
            measured["%s, %s" % (row["card"], row["date"])] = None
        if not figures:
            raise ValueError("no figures")
    except (csv.Error, KeyError, TypeError, ValueError) as error:
        sys.exit("decode.csv: %s" % error)
    return figures, "; ".join(measured)


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def steps(most, at_most):
    """Round numbers from 0 to just beyond most."""
    step = next(s for e in range(8) for s in (10 ** e, 2 * 10 ** e, 5 * 10 ** e) if most / s <= at_most)
    return range(0, int(-(-most // step)) * step + 1, step)


def picture(data):
    figures, measured = data
    deepest = max(depth for points in figures.values() for depth, _ in points)
    speeds = steps(max(speed for points in figures.values() for _, speed in points), 5)
    depths = [0] + [d for d in (1024, 2048, 4096, 8192, 16384, 32768) if d < deepest * 1.1]
    last = max(deepest * 1.12, 1)
    x = lambda depth: LEFT + depth / last * (WIDTH - LEFT - RIGHT)
    y = lambda speed: HEIGHT - BOTTOM - speed / speeds[-1] * (HEIGHT - TOP - BOTTOM)
    style = {name: STYLES.get(name, OTHER) for name in figures}
    out = []

    def text(px, py, words, kind, anchor="start"):
        out.append('<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>'
                   % (px, py, kind, anchor, escape(words)))

    out.append('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">' % (WIDTH, HEIGHT))
    out.append("<title>Decode speed by depth: " + escape("; ".join(
        "%s %s" % (name, ", ".join("%s tokens/s at %s" % (format(round(speed), ","), format(depth, ","))
                                   for depth, speed in points)) for name, points in figures.items())) + "</title>")
    out.append("<style>")
    out.append("text { font: 14px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif }")
    out.append(".title { font-size: 18px; font-weight: 600 } .name { font-weight: 600 }")
    out.append("path { fill: none; stroke-width: 2 } path.ours { stroke-width: 3.5 } "
               "path.floor { stroke-dasharray: 7 5 } path.grid { stroke-width: 1 }")
    for scheme, paper, ink, pale, grid in (0, "#ffffff", "#1f2328", "#59636e", "#d8dee4"), (
            1, "#0d1117", "#f0f6fc", "#9198a1", "#30363d"):
        out.append("@media (prefers-color-scheme: dark) {" if scheme else "")
        out.append(".paper { fill: %s } text { fill: %s } text.pale { fill: %s } .grid { stroke: %s }"
                   % (paper, ink, pale, grid))
        out.append(".halo { stroke: %s; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke }" % paper)
        for kind, *colour in sorted(set(style.values())):
            out.append("text.%s, circle.%s { fill: %s } path.%s { stroke: %s }"
                       % (kind, kind, colour[scheme], kind, colour[scheme]))
    out.append("}")
    out.append("</style>")
    out.append('<rect class="paper" width="%d" height="%d" rx="8"/>' % (WIDTH, HEIGHT))
    text(20, 30, "Decode speed by depth, tokens per second", "title")
    text(20, 51, measured + "; random weights of the exact shape, one sequence", "pale")
    for speed in speeds:
        out.append('<path class="grid" d="M%.1f %.1fH%.1f"/>' % (LEFT, y(speed), WIDTH - RIGHT))
        text(LEFT - 8, y(speed) + 5, format(speed, ","), "pale", "end")
    for depth in depths:
        text(x(depth), HEIGHT - BOTTOM + 20, format(depth, ","), "pale", "middle")
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "depth: tokens that are in the KV cache already", "pale", "middle")

    for name, points in figures.items():
        out.append('<path class="%s" d="M%s"/>' % (style[name][0], "L".join("%.1f %.1f" % (x(d), y(s))
                                                                           for d, s in points)))
    # Values stand above their points where there is room; a name with the last value stands beside it.
    names = []
    for name, points in figures.items():
        kind, free = style[name][0], -100.0
        for i, (depth, speed) in enumerate(points):
            px, py = x(depth), y(speed)
            if kind != "floor":
                out.append('<circle class="%s" cx="%.1f" cy="%.1f" r="4"/>' % (kind, px, py))
            if i == len(points) - 1:
                names.append([px, py, name, kind, speed])
            elif px - free > 50:
                text(px + 5, py - 8, format(round(speed), ","), kind + " halo")
                free = px
    taken = []
    for px, py, name, kind, speed in sorted(names, key=lambda n: n[1]):
        if px > WIDTH - RIGHT - 190:  # no room beside it: above it
            px, py, anchor = WIDTH - RIGHT, py - 17, "end"
        else:  # a single point's name stands lower, out of the way of lines that pass
            px, py, anchor = px + 10, py + (5 if len(figures[name]) > 1 else 18), "start"
        while any(abs(py - other) < LABEL and abs(px - at) < 200 for at, other in taken):
            py += 1
        taken.append((px, py))
        text(px, py, "%s %s" % (name, format(round(speed), ",")), "name %s halo" % kind, anchor)
    out.append("</svg>")
    return "\n".join(line for line in out if line) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tests/plot.py docs/decode.csv > docs/decode.svg")
    with open(sys.argv[1], encoding="utf-8") as figures_file:
        sys.stdout.write(picture(read_figures(figures_file.read())))
