import Foundation
import TestSupport
import Testing

/// Proofs and reports checked without the store they came from.
struct CheckCommandTests {
    /// The files that an auditor got, in a directory without a store.
    private func withHandedOut(_ body: (_ directory: String) throws -> Void) throws {
        try withDirectory { directory in
            let store = TestStore(directory: directory + "/store")
            let lines = (1...5).map {
                #"{"kind":"notify","user":"ada","title":"T\#($0)","data":{"n":[\#($0)]},"actor":"eve"}"#
            }
            for line in lines { try store.append(line) }
            try store.append(
                #"{"kind":"edit","user":"ada","item":1,"title":"New","body":null}"#,
                #"{"kind":"markAll","user":"ada","as":"read"}"#)
            for (name, arguments) in [
                ("head", ["tree-head"]), ("proof", ["prove", "3", "--disclose"]),
                ("growth", ["prove-consistency", "2", "7"]),
                ("plain", ["audit", "ada"]), ("report", ["audit", "ada", "--disclose"]),
            ] {
                let run = try TraylogRun.of(["--store", store.directory, "--json"] + arguments)
                #expect(run.status == 0)
                try run.output.write(to: URL(filePath: "\(directory)/\(name)"))
            }
            #expect(try TraylogRun.of(["keygen", directory + "/key", "--name", "example.org"]).status == 0)
            #expect(
                try store.run("tree-head", "--sign", directory + "/key", "--append", directory + "/heads").status == 0)
            try FileManager.default.removeItem(atPath: store.directory)
            try body(directory)
        }
    }

    private func check(_ directory: String, _ name: String, _ more: String...) throws -> TraylogRun {
        let head = more.isEmpty ? ["--tree-head", directory + "/head"] : more
        return try TraylogRun.of(["check", directory + "/" + name] + head)
    }

    @Test func aReportIsCheckedWithoutTheStore() throws {
        try withHandedOut { directory in
            for (name, words) in [
                ("proof", "1 event proved with all that it says"), ("growth", "the log only grew"),
                ("plain", "7 events proved, 7 by number, kind and times alone"), ("report", "7 events proved with all"),
            ] {
                let run = try check(directory, name)
                #expect(run.status == 0 && run.text.contains(words), "\(name): \(run.text)")
                let signed = try check(
                    directory, name, "--tree-head", directory + "/heads", "--public-key", directory + "/key.pub")
                #expect(signed.status == 0 && signed.text.contains(", signed"))
            }
        }
    }

    @Test func theTwoLinesOfATreeHeadAreATreeHead() throws {
        try withStore { store in
            let (head, proof) = (store.directory + "-head", store.directory + "-proof")
            try store.append(#"{"kind":"notify","user":"ada","title":"One"}"#)
            let plain = try store.run("tree-head").text
            try store.run("prove", "1", "--json").output.write(to: URL(filePath: proof))
            let json = try store.run("tree-head", "--json").text
            let several = [plain + "\n" + plain, plain + json, json + plain]
            for text in [plain, String(plain.dropLast()), "\n" + plain] + several {
                try text.write(toFile: head, atomically: true, encoding: .utf8)
                let run = try TraylogRun.of(["check", proof, "--tree-head", head])
                #expect(run.status == 0 && run.text.contains("by the tree head of 1 event"), "\(text)")
                #expect(try store.run("verify", "--tree-head", head).status == 0, "\(text)")
            }
        }
    }

    @Test func whatIsAlmostTheTwoLinesOfATreeHeadIsRefused() throws {
        try withHandedOut { directory in
            let root = String(repeating: "a1", count: 32)
            let note = try String(contentsOfFile: directory + "/heads", encoding: .utf8)
            let signature = note.split(separator: "\n").last.map(String.init) ?? ""
            for (text, wanted) in [
                ("tree size  7\n", "two lines"), ("tree size 7\nroot hash  \(root)\n", "two lines"),
                ("tree size  7\nroot hash  \(root) \n", "64 hexadecimal digits"),
                ("tree size  7\nroot hash  \(root.dropLast(2))\n", "64 hexadecimal digits"),
                ("tree size  7\nroot hash  \(root.dropLast(2))…\n", "64 hexadecimal digits"),
                ("tree size  7\nroot hash  \(root.uppercased())\n", "64 hexadecimal digits"),
                ("tree size  07\nroot hash  \(root)\n", "no number of events"),
                ("tree size  +7\nroot hash  \(root)\n", "no number of events"),
                ("tree size  -1\nroot hash  \(root)\n", "no number of events"),
                ("tree size  18446744073709551616\nroot hash  \(root)\n", "no number of events"),
                ("tree size  7\r\nroot hash  \(root)\r\n", "two lines"),
                ("root hash  \(root)\ntree size  7\n", "signature"),
                ("tree size  7\nroot hash  \(root)\npath       5 hashes; --json prints them\n", "signature"),
                ("tree size  7\nroot hash  \(root)\n\n\(signature)\n", "signature"),
                ("tree size  7\n\(note)", "two lines"),
            ] {
                try text.write(toFile: directory + "/head", atomically: true, encoding: .utf8)
                let run = try check(directory, "proof")
                #expect(run.status == 65 && run.text.isEmpty, "\(text): \(run.text)")
                #expect(
                    run.errorText.contains(directory + "/head: holds no tree head") && run.errorText.contains(wanted),
                    "\(text): \(run.errorText)")
            }
            // Whoever asks for a signature gets none from it.
            try "tree size  7\nroot hash  \(root)\n".write(
                toFile: directory + "/head", atomically: true, encoding: .utf8)
            let run = try check(
                directory, "proof", "--tree-head", directory + "/head", "--public-key", directory + "/key.pub")
            #expect(run.status == 1 && run.text.contains("it is not signed"))
        }
    }

    @Test func aProofSaysWhatItsEventSays() throws {
        try withHandedOut { directory in
            let proof = try check(directory, "proof").lines
            #expect(proof.contains { $0.hasPrefix("    3  2") && $0.contains("notified  ada") && $0.hasSuffix("T3") })
            let json = try check(directory, "proof", "--tree-head", directory + "/head", "--json")
            let events = try #require(try json.outputs("events").first ?? nil)
            guard case .array(let shown) = events, shown.count == 1, case .object(let event) = shown[0] else {
                Issue.record("\(json.text)")
                return
            }
            #expect(event["seq"] == 3 && event["user"] == "ada" && event["title"] == "T3" && event["actor"] == "eve")
            #expect(try json.outputs("more") == [0])
            // Of what is not disclosed, only what its leaf says is proved.
            let plain = try check(directory, "plain").text
            #expect(plain.contains("notified") && !plain.contains("T3") && !plain.contains("ada"))
            #expect(try !check(directory, "plain", "--tree-head", directory + "/head", "--json").text.contains("ada"))
            #expect(try check(directory, "growth").lines.count == 2)
        }
    }

    @Test func ofManyEventsTheFirstAreShown() throws {
        try withStore { store in
            let (head, report) = (store.directory + "-head", store.directory + "-report")
            let text = #"\u001b[31m"# + String(repeating: "long ", count: 150)
            try store.append(
                (1...23).map { #"{"kind":"notify","user":"ada","title":"\#($0) \#(text)"}"# }.joined(separator: "\n"))
            try store.run("tree-head").output.write(to: URL(filePath: head))
            try store.run("audit", "ada", "--json", "--disclose").output.write(to: URL(filePath: report))
            let run = try TraylogRun.of(["check", report, "--tree-head", head])
            #expect(run.status == 0 && run.lines.count == 2 + 1 + 20 + 1, "\(run.text)")
            #expect(run.lines.last == "and 3 more")
            #expect(run.lines.allSatisfy { $0.count < 400 } && !run.text.contains("\u{1B}"))
            let json = try TraylogRun.of(["check", report, "--tree-head", head, "--json"])
            #expect(try json.outputs("more") == [3])
        }
    }

    @Test func whatACheckNeedsIsSaidInItsOwnWords() throws {
        try withHandedOut { directory in
            let bare = try TraylogRun.of(["check", directory + "/proof"])
            #expect(bare.status == 64 && bare.errorText.contains("'--public-key <file>'"))
            #expect(bare.errorText.contains("Usage: traylog check"))
            for more in [[], ["--complete"]] {
                let run = try TraylogRun.of(
                    ["check", directory + "/proof", "--public-key", directory + "/key.pub"] + more)
                #expect(run.status == 64 && run.errorLines.count == 1, "\(run.errorText)")
                #expect(run.errorText.contains("name one with '--tree-head <file>'"), "\(run.errorText)")
            }
        }
    }

    @Test(
        arguments: sized(
            [("proof", 101), ("growth", 101), ("report", 1_601)],
            nightly: [("proof", 1), ("growth", 1), ("report", 41)]))
    func aChangedByteOfAReportIsFound(name: String, step: Int) throws {
        try withHandedOut { directory in
            let path = directory + "/" + name
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            for index in stride(from: Int.random(in: 0..<step), to: bytes.count - 1, by: step) {
                for bit: UInt8 in [1, 32] {
                    var changed = bytes
                    changed[index] ^= bit
                    try Data(changed).write(to: URL(filePath: path))
                    let run = try check(directory, name)
                    #expect(run.status == 1 && run.lines.count >= 2, "byte \(index), bit \(bit): \(run.text)")
                }
            }
        }
    }

    @Test func aReportWithAMissingLineIsReported() throws {
        try withHandedOut { directory in
            let path = directory + "/report"
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            for missing in [1, 4, lines.count - 1] {
                var rest = lines
                rest.remove(at: missing)
                try (rest.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
                #expect(try check(directory, "report").status == 1)
            }
            try Data().write(to: URL(filePath: path))
            #expect(try check(directory, "report").text.hasPrefix("the file is empty"))
        }
    }

    @Test func anotherTreeHeadIsNotTheRightOne() throws {
        try withHandedOut { directory in
            let head = #"{"treeSize":6,"rootHash":"\#(String(repeating: "0", count: 64))"}"#
            try head.write(toFile: directory + "/head", atomically: true, encoding: .utf8)
            let run = try check(directory, "proof")
            #expect(run.status == 1 && run.text.contains("ask for the proof in that tree"))
            #expect(try TraylogRun.of(["keygen", directory + "/other", "--name", "example.org"]).status == 0)
            let other = try check(
                directory, "proof", "--tree-head", directory + "/heads", "--public-key", directory + "/other.pub")
            #expect(other.status == 1 && other.text.contains("does not count"))
            #expect(try TraylogRun.of(["check", directory + "/proof"]).status == 64)
            #expect(try TraylogRun.of(["check", directory + "/none", "--tree-head", directory + "/head"]).status == 74)
            #expect(try check(directory, "proof", "--tree-head", directory + "/proof").status == 65)
        }
    }

    @Test func aTimerLearnsWhatIsNewAndThatNothingElseChanged() throws {
        try withStore { store in
            let heads = store.directory + ".heads"
            try store.append(#"{"kind":"notify","user":"ada"}"#)
            #expect(try store.run("tree-head", "--append", heads).status == 0)
            try store.append(#"{"kind":"notify","user":"ada"}"#, #"{"kind":"notify","user":"ada"}"#)
            let run = try store.run("verify", "--since", heads)
            #expect(run.status == 0 && run.text.contains("new since then: 2 events"))
            #expect(try store.run("verify", "--since", heads, "--json").outputs("newEvents") == [2])
            #expect(try store.run("tree-head", "--append", heads).status == 0)
            #expect(try store.run("verify", "--since", heads).text.contains("new since then: 0 events"))
            #expect(try store.run("verify", "--tree-head", heads).lines.count == 3)
            let other = TestStore(directory: store.directory + "-2")
            defer { try? FileManager.default.removeItem(atPath: other.directory) }
            for _ in 1...3 { try other.append(#"{"kind":"notify","user":"ada"}"#) }
            #expect(try other.run("verify", "--since", heads).status == 1)
        }
    }
}
