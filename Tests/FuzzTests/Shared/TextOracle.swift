import TestSupport
import TraylogChecks
@_spi(JSON) import TraylogDomain
import TraylogLog

@_spi(JSON) @testable import Traylog
@testable import TraylogJSON

/// Text that callers hand in.
enum TextOracle {
    static func complaint(aboutCursor bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let cursor = Cursor(text) else { return nil }
        guard Array(text.utf8) == Array(cursor.description.utf8) else { return "two texts for one cursor" }
        return cursor.description.hasPrefix("c1-0") ? "a cursor before everything" : nil
    }

    static func complaint(aboutCommand bytes: [UInt8]) -> String? {
        do throws(Refusal) {
            let command = try Command(line: bytes.span)
            guard JSONScanner.isValid(bytes.span) else { return "a command that is not JSON" }
            let line = Array(command.jsonLine.utf8)
            guard line.count <= Limits.commandLineBytes else { return nil }
            do throws(Refusal) {
                let again = try Command(line: line.span)
                // Line ends between the values of `data` become spaces.
                return again == command || bytes.contains(0x0a) ? nil : "written and read again it is another command"
            } catch {
                return "written again it is refused: \(error)"
            }
        } catch {
            guard case .invalid(let field, let reason) = error else { return "refused for a wrong reason: \(error)" }
            // A member can have the empty name.
            return reason.isEmpty ? "refused without a reason: \(field)" : nil
        }
    }

    static func complaint(aboutJSON bytes: [UInt8]) -> String? {
        let isValid = JSONScanner.isValid(bytes.span)
        if (try? JSONMembers(bytes.span)) != nil, !isValid { return "members of what is not JSON" }
        guard isValid else { return nil }
        guard String(validating: bytes, as: UTF8.self) != nil else { return "valid, and not UTF-8" }
        guard let canonical = CanonicalJSON.bytes(of: bytes.span) else { return "a value has no canonical form" }
        guard CanonicalJSON.bytes(of: canonical.span) == canonical else { return "a canonical form is not its own" }
        let member = Array(#"{"a":"#.utf8) + bytes + Array("}".utf8)
        guard let members = try? JSONMembers(member.span) else {
            // One level deeper may be too deep.
            return JSONScanner.isValid(member.span) ? "a valid member is not found" : nil
        }
        guard let range = members.values["a"] else { return "the member is not there" }
        return CanonicalJSON.areEqual(member.span.extracting(range), bytes.span) ? nil : "the member is another value"
    }

    static func complaint(aboutExportLine bytes: [UInt8]) -> String? {
        var writer = JSONWriter()
        guard let exported = try? ExportedEvent.read(bytes.span, writer: &writer) else { return nil }
        writer.removeAll()
        writer.write(exported.event, stored: exported.stored)
        let line = writer.bytes
        do throws(Refusal) {
            let again = try ExportedEvent.read(line.span, writer: &writer)
            guard again.event == exported.event, again.stored == exported.stored else {
                return "written again it is another event"
            }
        } catch {
            return "written again it is refused: \(error)"
        }
        writer.removeAll()
        writer.write(exported.event, stored: exported.stored)
        return writer.bytes == line ? nil : "the line is no fixpoint"
    }
}
