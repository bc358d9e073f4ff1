"""The item pipeline: steps that each post and comment passes before the store."""
