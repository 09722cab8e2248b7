// An app sees the words of the domain: trays, items, commands.
@_exported import TraylogDomain
@_exported import protocol TraylogJSON.JSONForm
@_exported import struct TraylogReplica.FetchResult
@_exported import class TraylogReplica.InboxFetcher
@_exported import protocol TraylogReplica.InboxSource
@_exported import protocol TraylogReplica.MarkableInbox
