// An embedding program imports `Traylog` alone and has the words of the domain with it, and proofs.
@_exported import TraylogAudit
@_exported import TraylogDomain
