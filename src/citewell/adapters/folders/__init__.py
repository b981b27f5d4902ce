"""Folders that are watched: on this machine, in S3, behind WebDAV."""
