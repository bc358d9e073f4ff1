"""Words and texts that rules are made of: vocabulary of forums, timestamps, YAML."""
