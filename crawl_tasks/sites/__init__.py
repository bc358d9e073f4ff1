"""Site files: read from `config/sites/NAME.yaml`, checked once, carried everywhere as a frozen `Site`."""
