"""The database of posts and comments. Import its modules by name: SQLAlchemy is paid for only where it is used."""
