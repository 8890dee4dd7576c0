"""TPROC-C as far as it is the same on every engine: loading, what shapes a base image, a schema
that another tool built, and the twelve consistency conditions.
"""
