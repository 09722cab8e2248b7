// Widths of text in a terminal belong to every file that prints, and to the tests of this program.
@_exported import TerminalText
