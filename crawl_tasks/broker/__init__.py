"""The broker: kombu's Redis transport, with our own messages as hints that may be lost."""
