import TraylogCLibrary

/// The words after the program's name as the parser gets them, and what is wrong with their bytes.
struct TypedArguments {
    let words: [String]
    /// What is wrong, and with which argument; nil when nothing is.
    ///
    /// The language replaces bytes that are not UTF-8: two users, two keys or two directories would become one.
    let problem: String?

    /// Those of the process.
    static var ofProcess: TypedArguments {
        var words: [[UInt8]] = []
        for index in 1..<max(1, CommandLine.argc) {
            guard let text = unsafe CommandLine.unsafeArgv[Int(index)] else { break }
            words.append(unsafe bytes(of: text))
        }
        return TypedArguments(words)
    }

    /// - Parameter words: in the bytes that the shell handed over.
    init(_ words: [[UInt8]]) {
        let texts = words.map { String(decoding: $0, as: UTF8.self) }
        self.words = texts.first == Self.completion ? texts : Self.joined(texts)
        problem =
            words.indices.first { String(validating: words[$0], as: UTF8.self) == nil }.map {
                Self.problem(words, at: $0)
            }
            ?? Self.completionProblem(texts)
    }

    /// The words before `--`, among which all options are.
    var options: ArraySlice<String> { words.prefix { $0 != "--" } }

    /// Whether a shell asks what could stand in the line, and wants an answer or nothing.
    var isCompletion: Bool { words.first == Self.completion }

    private static let completion = "---completion"
}

// MARK: Values that begin with a dash

extension TypedArguments {
    /// The options that take a value, whatever the command.
    ///
    /// A test compares them with what the commands say.
    static let valued: Set<String> = [
        "--action", "--actor", "--archive", "--as-of", "--before", "--body", "--branch", "--category", "--checkpoint",
        "--clear",
        "--collapse-key", "--cursor", "--data", "--device", "--expected-revision", "--expires-at", "--from", "--html",
        "--keep-days", "--key", "--kind", "--level", "--limit", "--list", "--listen", "--logs", "--max-age",
        "--max-archive-lag", "--max-backup-age", "--max-verified-age", "--max-witness-age", "--mib", "--name",
        "--not-before",
        "--note", "--now",
        "--occurred-at",
        "--prefix",
        "--public-key", "--purpose", "--remind-at", "--retain", "--seconds", "--ship", "--ship-delete",
        "--ship-timeout", "--sign", "--since", "--sort", "--state", "--store",
        "--summary-argument", "--summary-count", "--text", "--thread", "--through", "--title", "--to", "--topic",
        "--tree-head", "--until", "--up-to", "--user", "--wait", "--watch", "--append", "--witness-policy",
    ]

    /// The words with `--title -5` as `--title=-5`: an option that takes a value takes the next word, whatever that begins
    /// with, as a script that passes a text on expects.
    private static func joined(_ words: [String]) -> [String] {
        var joined: [String] = []
        var index = 0
        while index < words.count {
            let word = words[index]
            if word == "--" { return joined + words[index...] }
            index += 1
            if valued.contains(word), index < words.count, words[index].hasPrefix("-"), words[index] != "-" {
                joined.append("\(word)=\(words[index])")
                index += 1
            } else {
                joined.append(word)
            }
        }
        return joined
    }
}

// MARK: Bytes that are no text

extension TypedArguments {
    private static func problem(_ words: [[UInt8]], at index: Int) -> String {
        let word = words[index]
        let name = word.prefix { $0 != UInt8(ascii: "=") }
        if word.starts(with: Array("--".utf8)), name.count < word.count,
            let option = String(validating: name, as: UTF8.self)
        {
            return problem("'\(option)'", Array(word[(name.count + 1)...]))
        }
        let before = index > 0 ? String(decoding: words[index - 1], as: UTF8.self) : ""
        return problem(valued.contains(before) ? "'\(before)'" : "argument \(index + 1)", word)
    }

    /// What is wrong with the value of a variable of the environment; nil for one that is UTF-8, or unset.
    static func problem(ofVariable name: String) -> String? {
        guard let text = unsafe getenv(name) else { return nil }
        let value = unsafe bytes(of: text)
        return String(validating: value, as: UTF8.self) == nil ? problem("the variable \(name)", value) : nil
    }

    private static func problem(_ place: String, _ value: [UInt8]) -> String {
        "The value of \(place) is not UTF-8: '\(visible(value))'. Set the terminal to UTF-8, or write it in that encoding."
    }

    /// The bytes that are not ASCII in hexadecimal digits: `caf\xE9`.
    private static func visible(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(128).map { byte in
            guard byte < 0x20 || byte >= 0x7f else { return String(Unicode.Scalar(byte)) }
            return #"\x"# + String(byte >> 4, radix: 16, uppercase: true)
                + String(byte & 15, radix: 16, uppercase: true)
        }
        return shown.joined() + (bytes.count > shown.count ? "…" : "")
    }

    /// The parser would cut a word before its beginning.
    private static func completionProblem(_ words: [String]) -> String? {
        guard words.first == completion, let end = words.firstIndex(of: "--") else { return nil }
        let places = words[(end + 1)...].dropFirst().prefix(2).compactMap { Int($0) }
        return places.contains { $0 < 0 } ? "A completion cannot be asked for before the word." : nil
    }

    @unsafe private static func bytes(of text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
    }
}
