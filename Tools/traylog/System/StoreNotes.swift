import Traylog

/// When a store was last copied and verified: small files in its directory, which only `health` reads.
enum StoreNotes {
    enum Deed: String {
        case backup = "last-backup"
        case verified = "last-verified"
    }

    /// Notes a deed of now.
    ///
    /// A store on a medium that is read-only keeps no notes.
    static func note(_ deed: Deed, head: Seq, in directory: String) {
        let path = directory + "/" + deed.rawValue
        try? FileText.replace(path) { try $0.line("\(Timestamp.now.milliseconds) \(head)") }
    }

    static func last(_ deed: Deed, in directory: String) -> (time: Timestamp, head: Seq)? {
        guard let text = try? FileText.read(directory + "/" + deed.rawValue) else { return nil }
        let numbers = text.split { $0 == " " || $0 == "\n" }
        guard numbers.count == 2, let time = Int64(numbers[0]), let head = UInt64(numbers[1]) else { return nil }
        return (Timestamp(milliseconds: time), Seq(head))
    }
}
