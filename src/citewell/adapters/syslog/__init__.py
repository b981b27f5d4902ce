"""Tells the trail and the ends of the logs outside: to a file, or to a syslog server (RFC 5424)."""
