"""The version, apart from the package so that every room can name it."""

__version__ = "0.1.0.dev0"
