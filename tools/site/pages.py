"""Hooks for mkdocs: pages from all folders of the repository, with the links that work there."""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ["*.md", "docs/*.md", "docs/*/*.svg", "docs/*/*.png", "procedures/*.md", "clients/*.md", "clients/*/*.md", "bench/*.md", "verification/*.md", "verification/*/*.md", "testdata/*/*.md"]
# The content is as wide as a line of code.
STYLE = """.md-grid { max-width: 74rem; }
/* On a telephone a drawing keeps its size and is scrolled, so that its text can be read. */
@media (max-width: 44.9375em) {
  .md-typeset p:has(> img[src*="pictures/"]) { overflow-x: auto; }
  .md-typeset p > img[src*="pictures/"] { max-width: none; }
}
"""
# The newest release, and its day or the word unreleased.
RELEASE = re.compile(r"^## \[(\d[^\]]*)\] - (.+)$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")


def on_config(config):
    """Adds the pages of the languages to the navigation, and the version to the site."""
    version, day = RELEASE.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")).groups()
    config.site_name = f"applock {version}"
    config.copyright = f"This site describes applock {version} ({day})."
    languages = next(entry["Languages"] for entry in config.nav if "Languages" in entry)
    for pattern in ["clients/README.md", "clients/*/*.md", "docs/derby.md"]:
        languages += sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))
    return config


def on_files(files, config):
    """Replaces the pages of docs_dir by the repository's, under their own paths."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    files.append(File.generated(config, "site.css", content=STYLE))
    return files


def on_page_markdown(markdown, page, config, files):
    """Makes links to other files than pages lead to the repository."""

    def lead(match):
        target = (ROOT / page.file.src_uri).parent / match[1]
        if not target.exists():
            return match[1]  # mkdocs reports it
        path = target.resolve().relative_to(ROOT).as_posix()
        if files.get_file_from_path(path):
            return match[1]
        kind = "tree" if target.is_dir() else "blob"
        return f"{config.extra['repository']}/{kind}/main/{path}"

    if page.is_homepage:
        page.meta["hide"] = ["navigation"]  # it would list only this page
    return LINK.sub(lead, markdown)
