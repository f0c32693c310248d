"""What readers are built from.

The one thing to know: no format is known here, and nothing here chooses a reader; a
reader in a package of its own builds on these as ours do. What each module knows:

    conversation    turns from messages         chat_parts    a message of a chat API
    placed          values and where they lie   repeated      calls that repeat the history
    jsontext        JSON that may be broken     fields        fields of any shape
    fitting         structs of odd objects      tally         what was left out, by reason
    stamp           which bytes were indexed    databases     a client's SQLite file
"""
