"""What every server that kneebench starts itself needs, whichever engine it is.

An unprivileged account, files that change hands, a base image that is built once, its copy on a
storage, free disk space, a runtime directory, the process, and the report of its crash.
"""
