"""Sending notices: signed webhooks, only to addresses they may go to, on a schedule of tries."""
