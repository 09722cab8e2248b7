import Traylog
import TraylogAudit

/// Keys for tree heads, in files.
enum KeyFile {
    static func privateKey(_ path: String) throws -> NotePrivateKey {
        let text = try FileText.read(path)
        return try using(path) { () throws(NoteError) in try NotePrivateKey(text) }
    }

    static func publicKey(_ path: String) throws -> NotePublicKey {
        let text = try FileText.read(path)
        return try using(path) { () throws(NoteError) in try NotePublicKey(text) }
    }

    /// A tree head as a signed note.
    static func checkpoint(
        of head: TreeHead, with key: NotePrivateKey, from path: String
    ) throws(TraylogError) -> String {
        try using(path) { () throws(NoteError) in
            try Checkpoint(origin: key.publicKey.name, head: head).signed(with: key).text
        }
    }

    /// Makes what is wrong with a key a refusal that names where it is from.
    static func using<Answer>(
        _ subject: String, _ body: () throws(NoteError) -> Answer
    ) throws(TraylogError) -> Answer {
        do {
            return try body()
        } catch {
            throw .refused(.invalid(field: subject, reason: error.description))
        }
    }
}
