import ArgumentParser
import Traylog

extension CompletionKind {
    /// Names of users, from the store that the line names so far, or else the environment's.
    static var user: CompletionKind {
        .custom { words, _, prefix in UserCompletion(words: words, prefix: prefix).names }
    }
}

/// The users whose names begin with what was typed.
///
/// A shell that asks gets names or nothing, never an error.
struct UserCompletion {
    private static let most = 100

    let words: [String]
    let prefix: String

    var names: [String] {
        guard let directory = Self.directory(words) ?? Environment.value(of: "TRAYLOG_STORE"),
            let reader = try? StoreReader.open(directory)
        else { return [] }
        defer { reader.blocking.close() }
        return (try? reader.blocking.users(prefix: prefix, limit: Self.most).elements) ?? []
    }

    private static func directory(_ words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if word == "--store", index + 1 < words.count { return words[index + 1] }
            if word.hasPrefix("--store=") { return String(word.dropFirst("--store=".count)) }
        }
        return nil
    }
}
