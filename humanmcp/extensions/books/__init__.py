"""The server definition and the answer book: their pages, and the command `humanmcp book`.

What a book means, and when it answers, belongs to the core (`protocol/answer_book/`).
"""

from typing import Final

from humanmcp.extensions import Extension, Link

_HERE: Final = "humanmcp.extensions.books"

EXTENSION: Final = Extension(
    commands={"answering": {"book": f"{_HERE}.command"}},
    pages=(f"{_HERE}.book_page", f"{_HERE}.server_page", f"{_HERE}.rule_call"),
    links=(
        Link("bar", "/server", "books", "definition"),
        Link("bar", "/book", "books", "book"),
        Link("book", "/book", "books", "book"),
        Link("answer", "/m/{session}/{number}/keep", "books", "save answer"),
        Link("list", "/server/design?at={session}/{number}&member={member}", "books", "design"),
    ),
    marks=(f"{_HERE}.book_page:rules_mark",),
    desks=(f"{_HERE}.server_copy:ServerCopy",),
)
