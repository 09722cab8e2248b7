import Testing

/// Every public value travels: it is `Codable`, or stands here with the reason why not.
@Suite struct PublicValueTests {
    private static let sources = SourceFile.all(below: "Sources")

    /// Public structs and enums that are no values to be sent.
    private static let reasons = [
        "are asked or read, and hold a store, files, a connection or a fold": [
            "Archives", "BlockingReader", "BlockingStore", "ChangeFollower", "CompleteCheck",
            "CompleteHistory", "Iterator", "LegalHolds", "Lines", "LogExport", "MerkleAccumulator", "HandedOutCheck",
            "JSONWriter", "Projected", "Projector", "Rebuild", "StoreLog", "StoreProofs", "StoreUpkeep", "TokenFile",
            "TrayReplica", "SystemDeviceClock",
        ],
        "watch a store for logs, metrics and the shutdown of a program": ["StoreService", "StoreTelemetry"],
        "name functions or constants": ["JSONAnswer", "Limits", "Replay", "Verification"],
        "hold closures": ["StoreOptions", "TypedTime", "NodeOptions", "TrayClientOptions"],
        "are written into a file whose check reads it line by line": ["CompleteEntry", "Dossier", "Entry"],
        "are a decision's file and its check": ["DecisionCheck", "DecisionRecord", "DecisionStatement"],
        "are a story's page and its check": ["StoryCheck", "StoryRecord"],
        "counts the failures of one process": ["Backoff"],
        "are told in words": ["NextStep", "RevisionGap", "Share", "VisibleText"],
        "have functions and no value": ["DurableFile", "NearestName", "PercentEncoding"],
        "are a stranger's words, of which a program makes a value of its own": ["WireNumber", "WireSeconds"],
        "is a secret; its text is asked for by name": ["NotePrivateKey"],
        "are a member of another value, where being absent says something": ["Change", "Thread"],
        "is a member of an object, whose names are the ids": ["OutcomeCount"],
        "travels in its note, which has the text": ["Signature"],
        "pass between the library and an app's own transport or storage, in one process": [
            "ServiceRequest", "ServiceResponse", "ServiceStream", "DeviceChange", "LogMessage", "PublishOutcome",
        ],
        "are read from and written as texts of C2SP, for whoever wants them": [
            "AddCheckpoint", "LogProof", "Member", "WitnessPolicy",
        ],
        "decide what a witness or its client does next, in one process": [
            "Answer", "Doubt", "LogWitness", "WitnessConversation",
        ],
        "are verdicts, of which the caller shows the words": ["ProvedEvent", "WitnessedCheckpoint"],
        "has a form of bytes of its own, with a checksum": ["EventGroup"],
        "is told to an observer, which makes logs and metrics of it": ["StoreActivity"],
        "are shown by /readyz, /metrics and pages, in figures and words": ["NodeStatus", "StoreHealth", "Figure"],
        "are errors of one process; their names and descriptions are for everybody else": [
            "DamagedGroup", "JSONError", "LogUnreachable", "NoteError", "OutboxFailure", "OutboxRefusal",
            "ServiceFailure", "TrayClientRefusal",
        ],
    ]

    private static func names(_ pattern: some RegexComponent<(Substring, Substring, Substring)>) -> [(String, String)] {
        sources.flatMap { file in
            file.text.matches(of: pattern).map { (String($0.output.1), String($0.output.2)) }
        }
    }

    /// Names of types, each with the protocols of all its declarations and extensions.
    private static let protocols: [String: Set<String>] = {
        let declarations =
            names(/(?m)^ *(?:@_spi\(\w+\) )?public (?:struct|enum) (\w+)(?:<[^>{]*>)?((?::[^{\n]*)?) \{/)
            + names(/(?m)^(?:@_spi\(\w+\) )?extension (?:\w+\.)*(\w+): ([^{\n]*?) ?\{/)
        return declarations.reduce(into: [:]) { found, declaration in
            let parts = declaration.1.split { !$0.isLetter && $0 != "." }.map(String.init)
            found[declaration.0, default: []].formUnion(parts)
        }
    }()

    private static let declared = Set(names(/(?m)^ *(?:@_spi\(\w+\) )?public (struct|enum) (\w+)/).map(\.1))

    private static func isCodable(_ type: String) -> Bool {
        let protocols = protocols[type] ?? []
        let isDecodable = !protocols.isDisjoint(with: ["Codable", "Decodable", "JSONWord"])
        return isDecodable && !protocols.isDisjoint(with: ["Codable", "Encodable", "JSONWritable", "JSONWord"])
    }

    @Test(arguments: declared.sorted())
    func aPublicValueIsCodable(type: String) {
        let isListed = Self.reasons.values.contains { $0.contains(type) }
        #expect(
            Self.isCodable(type) != isListed,
            "\(type): \(isListed ? "take it from the list, it is Codable" : "make it Codable, or say in the list why not")"
        )
    }

    @Test func theListHasNoTypeThatIsGone() {
        let listed = Self.reasons.values.flatMap(\.self)
        #expect(Set(listed).subtracting(Self.declared).isEmpty)
        #expect(Self.declared.count > 100)
    }
}
