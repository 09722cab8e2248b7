// An app sees the words of the domain: trays, items, commands.
@_exported import TraylogDomain
@_exported import TraylogJSON
