// A module that reads the log also needs its events as values.
@_exported import TraylogCodec
