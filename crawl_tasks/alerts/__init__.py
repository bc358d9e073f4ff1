"""Beside the flow: what an operator should look at, found in snapshots; sent once when it begins and when it ends."""
