// An auditor imports `TraylogEvidence`, and `TraylogAudit` for keys and notes. The events and trays that a file shows are words
// of the domain.
@_exported import struct TraylogAudit.EventProof
@_exported import struct TraylogAudit.TreeHead
@_exported import TraylogDomain
@_exported import protocol TraylogJSON.JSONForm
