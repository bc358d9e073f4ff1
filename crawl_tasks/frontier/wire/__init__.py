"""What crosses from Python to Lua, each fact once: codes, terms, fields and arguments, and the head of the Lua library.

docs/wire.md is the same as a page.
"""
