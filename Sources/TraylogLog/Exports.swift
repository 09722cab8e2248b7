// Whoever reads the log reads its events.
@_exported import TraylogCodec
