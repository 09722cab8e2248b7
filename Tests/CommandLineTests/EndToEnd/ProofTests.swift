import Foundation
import Testing

/// Tree heads, proofs, keys and reports on the command line: forms, exit codes and refusals.
struct ProofTests {
    private func fill(_ store: TestStore) throws {
        let input = (1...5).map { #"{"kind":"notify","user":"ada","title":"T\#($0)"}"# }.joined(separator: "\n")
        #expect(try store.run("append", "-", input: input + "\n" + #"{"kind":"seeTray","user":"ada"}"#).status == 0)
    }

    /// Replaces hashes, and everything that depends on the salt or the clock, by names.
    private func form(_ text: String) -> String {
        text.replacing(/[0-9a-f]{64}/, with: "HASH")
            .replacing(/"leaf":"[A-Za-z0-9+\/]{88}"/, with: #""leaf":"LEAF""#)
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, with: "TIME")
    }

    @Test func proofJSONHasTheSpecifiedMembers() throws {
        try withStore { store in
            try fill(store)
            let head = try store.run("tree-head", "--json").text
            #expect(form(head) == #"{"treeSize":6,"rootHash":"HASH"}"# + "\n")
            let proof = try store.run("prove", "2", "--json").text
            #expect(
                form(proof)
                    == #"{"seq":2,"leafIndex":1,"treeSize":6,"rootHash":"HASH","leafHash":"HASH","leaf":"LEAF","#
                    + #""path":["HASH","HASH","HASH"]}"# + "\n")
            let growth = try store.run("prove-consistency", "4", "6", "--json").text
            #expect(
                form(growth) == #"{"first":4,"second":6,"firstRoot":"HASH","secondRoot":"HASH","path":["HASH"]}"# + "\n"
            )
            #expect(form(try store.run("prove", "2", "--as-of", "2", "--json").text).contains(#""treeSize":2"#))
        }
    }

    @Test func savingTheTreeChangesNoAnswer() throws {
        try withStore { store in
            try fill(store)
            let before = try store.run("tree-head", "--json").text
            let proof = try store.run("prove", "3", "--json").text
            #expect(try store.run("tree-head", "--save", "--json").text == before)
            #expect(try store.run("prove", "3", "--json").text == proof)
            #expect(try store.run("verify").status == 0)
        }
    }

    @Test(arguments: [
        (["prove", "0"], "unknownEvent"), (["prove", "7"], "upToBeyondHead"),
        (["prove", "3", "--as-of", "2"], "upToBeyondHead"), (["prove-consistency", "2", "7"], "upToBeyondHead"),
        (["prove-consistency", "3", "2"], "invalid"), (["tree-head", "--as-of", "7"], "upToBeyondHead"),
        (["audit", "ada", "--to", "7"], "upToBeyondHead"), (["diff", "ada", "--from", "5", "--to", "2"], "invalid"),
        (["audit", ""], "invalid"),
    ])
    func impossibleProofArgumentsAreRefused(arguments: [String], error: String) throws {
        try withStore { store in
            try fill(store)
            let run = try TraylogRun.of(arguments + ["--json", "--store", store.directory])
            #expect(run.status == 65)
            #expect(try run.errors("error") == [JSONValue.text(error)])
        }
    }

    @Test func aKeyPairSignsAndItsFilesAreNotOverwritten() throws {
        try withStore { store in
            try fill(store)
            let key = store.directory + ".key"
            #expect(try TraylogRun.of(["keygen", key, "--name", "example.org"]).status == 0)
            let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try TraylogRun.of(["keygen", key]).status == 74)
            #expect(try TraylogRun.of(["keygen", "/nonexist/a"]).errorText.hasPrefix("traylog: /nonexist/a: "))
            #expect(try TraylogRun.of(["keygen", key + "2", "--name", "a b"]).status == 65)
            #expect(!FileManager.default.fileExists(atPath: key + "2"))

            let checkpoint = store.directory + ".checkpoint"
            let signed = try store.run("tree-head", "--sign", key)
            #expect(signed.text.hasPrefix("example.org\n6\n"))
            try signed.output.write(to: URL(filePath: checkpoint))
            #expect(try store.run("notify", "ada").status == 0)
            let check = ["verify", "--tree-head", checkpoint, "--public-key"]
            let sound = try TraylogRun.of(check + [key + ".pub", "--store", store.directory])
            #expect(sound.status == 0)
            #expect(sound.lines.first == "the log extends the tree head of 6 events, signed")
            #expect(try TraylogRun.of(["keygen", key + "3", "--name", "example.org"]).status == 0)
            let other = try TraylogRun.of(check + [key + "3.pub", "--store", store.directory])
            #expect(other.status == 1)
            #expect(other.text.contains("the key example.org has not signed it"))
            let noKey = try TraylogRun.of(check + [checkpoint, "--store", store.directory])
            #expect(noKey.status == 65)
        }
    }

    @Test func aTreeHeadOfAnotherLogIsADifference() throws {
        try withStore { store in
            try fill(store)
            try withStore { other in
                try fill(other)
                let head = try other.run("tree-head", "--json").text
                let run = try store.run("verify", "--tree-head", "-", "--json", input: head)
                #expect(run.status == 1)
                #expect(run.text.contains(#""extended":false"#))
                let own = try store.run("verify", "--tree-head", "-", input: store.run("tree-head", "--json").text)
                #expect(own.status == 0)
                #expect(try store.run("verify", "--tree-head", "-", input: "nonsense").status == 65)
                #expect(try store.run("verify", "--tree-head", "-", input: "{}").status == 65)
                #expect(try store.run("verify", "--tree-head", store.directory + ".none").status == 74)
            }
        }
    }

    @Test func aTreeHeadFromBeforeACompactionVerifiesAfterIt() throws {
        try withStore { store in
            try fill(store)
            #expect(try store.run("mark-all", "ada", "deleted").status == 0)
            #expect(try store.run("notify", "ada").status == 0)
            let head = try store.run("tree-head", "--json").text
            let before = try store.run("prove", "2", "--as-of", "7", "--json").text
                .replacing(/"leaf":"[A-Za-z0-9+\/]{88}"/, with: #""leaf":"LEAF""#)
            let growth = try store.run("prove-consistency", "4", "8", "--json").text
            #expect(try store.run("compact", "--before", "8").status == 0)
            let gone = try store.run("prove", "2", "--as-of", "7", "--json").text
            #expect(form(gone).contains(#""leafHash":"HASH","path":["HASH","HASH","HASH"]"#))
            #expect(gone.replacing(#""path""#, with: #""leaf":"LEAF","path""#) == before)
            #expect(try store.run("prove-consistency", "4", "8", "--json").text == growth)
            let verified = try store.run("verify", "--tree-head", "-", input: head)
            #expect(verified.status == 0)
            #expect(verified.lines.first == "the log extends the tree head of 8 events")
            #expect(try store.run("verify").status == 0)
        }
    }

    @Test func aReportIsJSONLinesWithItsSummaryFirst() throws {
        try withStore { store in
            try fill(store)
            let lines = try store.run("audit", "ada", "--json").lines
            #expect(lines.count == 7)
            #expect(
                form(lines[0]).hasPrefix(#"{"user":"ada","from":1,"through":6,"events":6,"treeHead":{"treeSize":6,"#))
            let last = form(lines[6])
            #expect(
                last.hasPrefix(
                    #"{"event":{"seq":6,"revision":6,"recordedAt":"TIME","kind":"traySeen","user":"ada","upTo":5},"#))
            #expect(
                last.contains(#""before":{"unseen":5,"unread":5,"total":5},"after":{"unseen":0,"unread":5,"total":5},"#)
            )
            #expect(last.contains(#""proof":{"seq":6,"leafIndex":5,"#))
            let bare = try store.run("audit", "ada", "--json", "--no-proofs").lines
            #expect(!bare[1].contains("proof"))
            let page = store.directory + ".html"
            #expect(try store.run("audit", "ada", "--html", page).status == 0)
            #expect(try String(contentsOfFile: page, encoding: .utf8).hasPrefix("<!DOCTYPE html>"))
            #expect(!FileManager.default.fileExists(atPath: page + ".partial"))
            #expect(try store.run("audit", "ada", "--html", page, "--json").status == 64)
        }
    }

    @Test func proofsAreMadeBesideAWriter() throws {
        try withStore { store in
            let writer = try Conversation(["append", "-", "--ack", "--store", store.directory])
            for seq in 1...3 {
                try writer.say(#"{"kind":"notify","user":"ada"}"# + "\n")
                #expect(try writer.hear() == #"{"line":\#(seq),"result":"appended","seq":\#(seq)}"#)
                #expect(try store.run("tree-head", "--json").text.hasPrefix(#"{"treeSize":\#(seq),"#))
                #expect(try store.run("prove", "\(seq)", "--json").status == 0)
                #expect(try store.run("audit", "ada", "--json").lines.count == 1 + seq)
            }
            // It would have to write.
            #expect(try store.run("tree-head", "--save").status == 69)
            try writer.endInput()
            #expect(writer.waitForEnd() == 0)
            #expect(try store.run("verify").status == 0)
        }
    }
}
