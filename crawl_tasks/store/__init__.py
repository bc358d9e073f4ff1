"""The database of posts and comments. Import the modules by name: only these pay for the import of SQLAlchemy."""
