"""What a table of codewords says, unbiased, each answer with its variance; nothing is decided here."""
