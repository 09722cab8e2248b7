import Foundation

/// One thing that a recorded program did to the files of its store, or said to the world.
package enum RecordedEvent: Sendable {
    /// The files that are recorded; others must not matter.
    package enum File: UInt8, Sendable {
        case data = 1
        case lease = 2
        /// The data file that is about to take the other one's place.
        case rewrite = 4
        case storeFolder = 5
        case rewriteFolder = 6
        /// Of which only the name is recorded.
        case rewriteLock = 7
    }

    /// Opened so that it exists now; what it holds stays.
    case created(File)
    case truncated(File, bytes: Int)
    case written(File, offset: Int, Data)
    /// The write with this number is on disk, whatever came before it in the same file.
    case writeSynced(File, write: Int)
    case syncBegun(File)
    /// Everything written to the file before the event with this number is on disk.
    case syncEnded(File, begin: Int)
    /// The file of the rewrite took the store's name.
    case renamed(File)
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
                guard let file = File(rawValue: trace[place + 1]) else { throw Malformed(byteCount: count) }
                switch kind {
                case 1: events.append(.created(file))
                case 2: events.append(.truncated(file, bytes: offset))
                case 3: events.append(.written(file, offset: offset, payload))
                case 4: events.append(.writeSynced(file, write: reference))
                case 5: events.append(.syncBegun(file))
                case 8: events.append(.renamed(file))
                case 6: events.append(.syncEnded(file, begin: reference))
                default: throw Malformed(byteCount: count)
                }
            }
            place += 24 + bytes
        }
        return events
    }
}
