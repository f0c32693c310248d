"""Sessions that lie packed: kept by this program, or by anybody else.

The one thing to know: what reads, finds and keeps sessions meets packed files, so this
lies below all three. What each module knows:

    archive      the manifest beside a kept session
    packed       reading what is packed as if it were not
    zipped       the entries of a zip file, as logs of Inspect are
    zstandard    where zstd is
"""
