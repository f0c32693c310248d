"""Keeps sessions before their client deletes them.

The one thing to know: what is kept was read back first, and is never overwritten. What
each module knows:

    keep    one session, packed and verified    rows    its rows of a client's database
"""
