import TraylogDomain
import TraylogFold
import TraylogPages
import TraylogQueries
import TraylogStates

/// Holds what queries of a moment answer about each user against what the log gives.
struct AnswerCheck: FoldTaker {
    let source: FileSource
    /// The last event that the moment sees.
    let end: UInt64
    private(set) var events: UInt64 = 0
    private(set) var users: UInt64 = 0
    /// The first one.
    private(set) var difference: StateCheck.Difference?

    init(source: FileSource, end: UInt64) {
        self.source = source
        self.end = end
    }

    mutating func reached(_ landmark: TrayState, of folded: LogFold.Folded, before: TrayState?) {}

    mutating func take(_ folded: LogFold.Folded) throws {
        events += UInt64(folded.events)
        // Nobody asks for a topic's tray.
        guard !folded.name.isTopic else { return }
        users += 1
        guard difference == nil, let words = try words(folded) else { return }
        difference = StateCheck.Difference(
            stream: folded.stream, words: "\(folded.name.words), as of event \(end): \(words)")
    }

    private func words(_ folded: LogFold.Folded) throws -> String? {
        do {
            return try source.read(.past, of: folded.name.text) { now in
                try AnswerComparison(answered: now.at(end), folded: folded.state, pages: folded.pages).difference()
            }
        } catch PackedError.damaged(let what) {
            return "what is stored is damaged (\(what))"
        } catch let error as LMDBError where error.code == .corrupted || error.code == .truncated {
            return error.message
        }
    }
}
