// An embedding program imports `Traylog` alone and has the words of the domain with it.
@_exported import TraylogDomain
