import Foundation

/// One recorded operation of a program on the files of its store, or one acknowledgement.
package enum RecordedEvent: Sendable {
    /// The files and directories that are recorded; others must not matter.
    package enum File: Hashable, Sendable {
        /// The data file of an environment, by its number; 0 for one that is not whole yet.
        case data(Int)
        /// The journal beside it.
        case journal(Int)
        /// The directory of an environment.
        case folder(Int)
        case storeFolder
        /// What becomes `CURRENT` by its renaming.
        case next
    }

    /// Opened or made so that it exists now; what it holds stays.
    case created(File)
    case truncated(File, bytes: Int)
    case written(File, offset: Int, Data)
    /// The write with this number is on disk, whatever came before it in the same file.
    case writeSynced(File, write: Int)
    case syncBegun(File)
    /// Everything written to the file before the event with this number is on disk; of a directory, the names in it.
    case syncEnded(File, begin: Int)
    /// ``File/next`` became `CURRENT`, or the directory of the first environment got its name.
    case renamed(File)
    case removed(File)
    /// The store's answers are out: its log reaches at least to `head`, and a commit ended there.
    case acknowledged(head: UInt64)
}

extension RecordedEvent {
    var isAcknowledgement: Bool {
        if case .acknowledged = self { true } else { false }
    }

    /// Reads a trace; its format is described in `recorder.c`.
    package static func all(in trace: Data) throws -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        var place = trace.startIndex
        func number(_ offset: Int, _ bytes: Int) -> Int {
            let all = trace[(place + offset)..<(place + offset + bytes)]
            return all.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        while place < trace.endIndex {
            guard trace.endIndex - place >= 24 else { throw Malformed(byteCount: trace.count) }
            let (kind, count, offset, reference) = (trace[place], number(4, 4), number(8, 8), number(16, 8))
            let bytes = kind == 3 || kind == 7 ? count : 0
            guard trace.endIndex - place >= 24 + bytes else { throw Malformed(byteCount: trace.count) }
            let payload = trace.subdata(in: (place + 24)..<(place + 24 + bytes))
            if kind == 7 {
                let text = String(decoding: payload, as: UTF8.self).trimmingCharacters(in: .newlines)
                guard let head = UInt64(text) else { throw Malformed(byteCount: count) }
                events.append(.acknowledged(head: head))
            } else {
                guard let file = File(trace[place + 1], environment: number(2, 2)) else {
                    throw Malformed(byteCount: count)
                }
                switch kind {
                case 1: events.append(.created(file))
                case 2: events.append(.truncated(file, bytes: offset))
                case 3: events.append(.written(file, offset: offset, payload))
                case 4: events.append(.writeSynced(file, write: reference))
                case 5: events.append(.syncBegun(file))
                case 6: events.append(.syncEnded(file, begin: reference))
                case 8: events.append(.renamed(file))
                case 9: events.append(.removed(file))
                default: throw Malformed(byteCount: count)
                }
            }
            place += 24 + bytes
        }
        return events
    }
}

extension RecordedEvent.File {
    fileprivate init?(_ code: UInt8, environment: Int) {
        switch code {
        case 1: self = .data(environment)
        case 2: self = .folder(environment)
        case 4: self = .storeFolder
        case 5: self = .next
        case 7: self = .journal(environment)
        default: return nil
        }
    }
}
