"""Finds the sessions on a machine, and says of each what a list says.

The one thing to know: a file is read once and then known by the index, so what reads
is loaded only when there is a file to be read. What each module knows:

    roots        where clients keep sessions     walking      the files below those places
    copies       files that are another again    inside       what a file holds
    summary      what a list says of each        summarising  reading a file for that
    index        what was found before           continued    files read with others
    earlier      what others were before         hashes       SHA-256 of files
    repeats      prompts that a session has from another
    discovery    all of it: the list
"""
