"""Adds the generated pages to the site, and a list of all decisions to theirs."""

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from docs.generators import command, compatibility

PAGES = {"reference/command.md": command.page, "compatibility.md": compatibility.page}


def on_files(files: Files, config: Any) -> Files:
    """Called by mkdocs when it knows the files of the site."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Called by mkdocs for each page before it is rendered."""
    if page.file.src_uri != "decisions/index.md":
        return markdown
    for path in sorted(Path(config.docs_dir, "decisions").glob("0*.md")):
        title = path.read_text().partition("\n")[0].lstrip("# ")
        markdown += f"\n- [{title}]({path.name})"
    return markdown + "\n"
