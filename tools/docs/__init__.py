"""The generated pages and files of the repository, each made from tables of the code."""
