"""The Python part of Hob."""

__version__ = "0.1.0"  # as in CMakeLists.txt and pyproject.toml
