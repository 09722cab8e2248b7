// An embedding program imports `Traylog` alone and has the words of the domain with it, proofs, and the options and reports
// of the floors below. What these have beside is `package`.
@_exported import TraylogAudit
@_exported import TraylogChecks
@_exported import TraylogDomain
@_exported import TraylogJSON
@_exported import TraylogQueries
@_exported import TraylogReplica
@_exported import TraylogRewrite
@_exported import TraylogStates
@_exported import TraylogWriter
