"""States that an operator meets, brought about with real processes, and what each place says of them."""
