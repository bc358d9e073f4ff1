"""The parser: from a fetched page to items and further requests. Pure: no network, no Redis, no database, no clock."""
