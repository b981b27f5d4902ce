"""From the list of a bookshelf to guidelines in the library, in three steps that can be looked at and gone on with.

folder/books/NBK1/          book.json and its texts     download
folder/passages/NBK1.jsonl  one line per passage        parse
the library                                             embed
"""

from citewell.bootstrap.bookshelf.download import download
from citewell.bootstrap.bookshelf.embed import embed
from citewell.bootstrap.bookshelf.files import Done
from citewell.bootstrap.bookshelf.parse import Parsing

__all__ = ["Done", "Parsing", "download", "embed"]
