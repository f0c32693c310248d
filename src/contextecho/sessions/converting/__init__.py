"""Writes sessions in other formats.

The one thing to know: the readers of what is written here take its shape from here, so
that one module says what both agree on. What each module knows:

    normalised     lines of one documented shape, which lose nothing
    inspect_log    a log of Inspect
    convert        writing the file, whole or not at all
"""
