// An embedding program imports `Traylog` alone. It has the words of the domain with it, options and reports, and the three
// values that proofs come in; `import TraylogAudit` adds notes and keys, and `import TraylogJSON` the writer.
@_exported import struct TraylogAudit.EventProof
@_exported import struct TraylogAudit.TreeGrowth
@_exported import struct TraylogAudit.TreeHead
@_exported import TraylogChecks
@_exported import TraylogDomain
@_exported import TraylogEvidence
@_exported import protocol TraylogJSON.JSONForm
@_exported import TraylogQueries
@_exported import TraylogReplica
@_exported import TraylogRewrite
@_exported import TraylogStates
@_exported import TraylogWriter
