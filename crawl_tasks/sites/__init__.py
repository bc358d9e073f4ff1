"""What a site is: read from `config/sites/NAME.yaml`, checked once, carried everywhere as a frozen `Site`."""
