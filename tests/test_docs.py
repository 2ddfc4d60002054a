"""What people look at beside the program: the man page, and the pictures in docs/."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import plot

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def test_man_page_has_no_fault():
    if not shutil.which("mandoc"):
        print("skipped: no mandoc")
        return
    lint = subprocess.run(["mandoc", "-T", "lint", "qwen600.1"], cwd=SOURCE, stdout=subprocess.PIPE, encoding="utf-8")
    assert lint.returncode == 0 and not lint.stdout, lint.stdout
    page = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=90", "qwen600.1"], cwd=SOURCE, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout
    assert page.count("\n") <= 100, "two screens, not %d lines" % page.count("\n")


def test_man_page_has_the_flags_of_the_usage():
    usage = dict(re.findall(r"^      (-\w) <.*?>\s+(.*)$", read("README.md"), re.M))
    page = read("qwen600.1")
    assert set(usage) == {"-" + flag for flag in re.findall(r"^\.It Fl (\w) Ar", page, re.M)}
    assert set(usage) == {"-" + flag for flag in re.findall(r"^\.Op Fl (\w) Ar", page, re.M)}
    for flag, text in usage.items():
        told = re.search(r"^\.It Fl %s Ar.*\n(?:[^.].*\n|\.[^I].*\n)+" % flag[1], page, re.M).group()
        for number in re.findall(r"\d[\d.]*", text):
            assert number in told, "%s: the man page does not tell %s" % (flag, number)


def test_pictures_are_whole_and_shown_in_light_and_dark():
    for name in "docs/token.svg", "docs/decode.svg":
        picture = read(name)
        root = xml.etree.ElementTree.fromstring(picture)
        assert root.tag.endswith("}svg") and root.get("viewBox") and root.get("role") == "img", name
        assert root[0].tag.endswith("}title") and root[0].text, name + ": a title for those who cannot see it"
        assert "@media (prefers-color-scheme: dark)" in picture, name
        for word in "<script", "<image", "@import", "url(http", "xlink:href":
            assert word not in picture, "%s: %s is not shown by code hosts" % (name, word)
        colours = set(re.findall(r'(?:fill|stroke)="(#\w+|black|white)"', picture))
        assert not colours, "%s: %s does not follow the scheme" % (name, colours)
        assert name in read("README.md"), name


def test_plot_makes_the_picture_from_the_figures():
    assert plot.picture(plot.read_figures(read("docs/decode.csv"))) == read("docs/decode.svg"), \
        "run tests/plot.py docs/decode.csv > docs/decode.svg"


def test_tables_and_picture_have_the_same_figures():
    figures, _ = plot.read_figures(read("docs/decode.csv"))
    first, second = re.findall(r"^\|(?: \| 0| depth).*\n\|.*\n((?:\|.*\n)+)", read("README.md"), re.M)
    for row in first.splitlines():
        name, *cells, _ = [cell.strip(" *") for cell in row.strip("|").split("|")]
        engine = next(known for known in figures if name.startswith(known))
        speeds = [speed for _, speed in figures[engine]]
        for cell in filter(None, cells):
            assert int(cell.split()[0].replace(",", "")) in speeds, row
    ours = {"{:,} | {:,.0f}".format(*point) for point in figures["qwen600"]}
    assert ours == {re.sub(r"^\| (\S+) \| .*? \| (\S+) .*", r"\1 | \2", row) for row in second.splitlines()}, ours


def test_plot_refuses_what_is_no_figure():
    head = "engine,depth,tokens_per_second,card,date\n"
    for row in "ours,0,fast,H200,2026-11-29\n", "ours,0,-1,H200,2026-11-29\n", "ours,0\n", "":
        try:
            plot.read_figures(head + row)
        except SystemExit as told:
            assert "decode.csv" in str(told), told
        else:
            assert False, row


if __name__ == "__main__":
    import fixture

    fixture.run(globals())
