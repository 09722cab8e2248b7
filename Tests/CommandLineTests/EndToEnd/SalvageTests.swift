import Foundation
import TestSupport
import Testing

/// Exports the readable events of a damaged store, and restores them.
struct SalvageTests {
    private static let pageBytes = 4_096

    /// Users, a topic, and payloads that fill pages of their own.
    private func fill(_ store: TestStore) throws {
        var lines: [String] = []
        for number in 1...70 {
            let user = "user-\(number % 5)"
            let data = number % 14 == 0 ? #","data":"\#(String(repeating: "x", count: 9_000))""# : ""
            lines.append(
                #"{"kind":"notify","user":"\#(user)","key":"k\#(number)","title":"Title \#(number)"\#(data)}"#)
            if number % 6 == 0 {
                lines.append(#"{"kind":"mark","user":"\#(user)","as":"read","items":["k\#(number)"]}"#)
            }
            if number == 10 {
                lines += (0..<5).map { #"{"kind":"subscribe","user":"user-\#($0)","topic":"news"}"# }
            }
            if number % 20 == 0 { lines.append(#"{"kind":"broadcast","topic":"news","title":"News \#(number)"}"#) }
        }
        let run = try TraylogRun.of(
            ["--store", store.directory, "append"], input: Data(lines.joined(separator: "\n").utf8))
        #expect(run.status == 0)
    }

    /// The events in an export, without their stored form, and those that it reports as lost.
    private func events(_ run: TraylogRun) throws -> (events: [Double: [String: JSONValue]], lost: [Double]) {
        var (events, lost): ([Double: [String: JSONValue]], [Double]) = ([:], [])
        for line in run.lines {
            var object = try JSONValue.object(line)
            guard case .number(let seq)? = object["seq"] else { continue }
            object["stored"] = nil
            if object["lost"] == nil { events[seq] = object } else { lost.append(seq) }
        }
        return (events, lost)
    }

    /// The seqs of the rows of `log` and `chunks` in a page: those of older commits, too.
    private func seqs(in page: Data) -> Set<Double> {
        let bytes = [UInt8](page)
        func u16(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
        guard u16(10) & 0xF == 2, u16(12) >= 16 else { return [] }
        return Set(
            stride(from: 16, to: u16(12), by: 2).compactMap { place in
                let node = u16(place)
                let keyBytes = u16(node + 6)
                guard keyBytes == 8 || keyBytes == 10 else { return nil }
                return Double(bytes[(node + 8)..<(node + 16)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            })
    }

    @Test func aDamagedPageLosesOnlyTheEventsThatWereOnIt() throws {
        try withStore { store in
            try fill(store)
            let whole = try events(try store.run("export")).events
            let path = URL(filePath: StoreFiles.data(of: store.directory))
            let data = try Data(contentsOf: path)
            var (losing, kept) = (0, 0)
            for page in stride(from: 0, to: data.count / Self.pageBytes, by: sized(5, nightly: 1)) {
                let range = page * Self.pageBytes..<(page + 1) * Self.pageBytes
                var damaged = data
                damaged.replaceSubrange(range, with: Data(count: Self.pageBytes))
                try damaged.write(to: path)
                let run = try TraylogRun.of(["--store", store.directory, "export", "--skip-damaged"])
                let (left, lost) = try events(run)
                #expect(run.status == (lost.isEmpty ? 0 : 1), "page \(page)")
                // Every event is unchanged or reported as lost.
                #expect(left.count + lost.count == whole.count, "page \(page)")
                for (seq, event) in left { #expect(event == whole[seq], "page \(page), event \(seq)") }
                // A page of a large value has no rows: then only the value's event is affected.
                let onPage = seqs(in: data[range])
                if onPage.isEmpty {
                    #expect(lost.count <= 1, "page \(page)")
                } else {
                    #expect(onPage.isSuperset(of: lost), "page \(page)")
                }
                if lost.isEmpty { kept += 1 } else { losing += 1 }
                try restoreWhatIsLeft(run, lost, whole.count)
            }
            #expect(losing > sized(1, nightly: 5) && kept > sized(1, nightly: 5))
        }
    }

    private func restoreWhatIsLeft(_ export: TraylogRun, _ lost: [Double], _ count: Int) throws {
        try withStore { copy in
            let arguments = ["--store", copy.directory]
            let restore = try TraylogRun.of(arguments + ["restore", "-", "--json"], input: export.output)
            #expect(restore.status == 0)
            #expect(try restore.outputs("head") == [.number(Double(count))])
            #expect(try restore.outputs("lost") == [lost.isEmpty ? nil : .number(Double(lost.count))])
            let log = try TraylogRun.of(arguments + ["log", "--kind", "lost", "--json"])
            #expect(try log.outputs("seq") == lost.map { .number($0) })
            #expect(try TraylogRun.of(arguments + ["verify"]).status == 0)
        }
    }

    @Test func aSalvagedStoreWithErasedPeopleCanBeRestored() throws {
        try withStore { store in
            try fill(store)
            try store.append(#"{"kind":"markAll","user":"user-1","as":"deleted"}"#)
            #expect(try store.run("compact", "--before", "60", "--yes").status == 0)
            #expect(try store.run("erase", "user-2", "--yes").status == 0)
            let export = try TraylogRun.of(["--store", store.directory, "export", "--skip-damaged"])
            #expect(export.status == 0)
            // Marks below the floor left with the compaction, so the items are compared without them.
            let other = try titles(of: "user-3", in: store)
            try withStore { copy in
                let restore = try TraylogRun.of(
                    ["--store", copy.directory, "restore", "-"], input: export.output)
                #expect(restore.status == 0 && !restore.text.contains("lost"))
                #expect(restore.text.contains(" of them erased, ") && restore.text.contains(" compacted\n"))
                #expect(try titles(of: "user-3", in: copy) == other && other.count > 10)
                #expect(try copy.run("tray", "user-2", "--json").outputs("total") == [.number(0)])
                #expect(try copy.run("verify").status == 0)
                // An export of it is complete, and restores to the same store.
                let again = try copy.run("export")
                #expect(again.status == 0)
                try withStore { third in
                    #expect(
                        try TraylogRun.of(["--store", third.directory, "restore", "-"], input: again.output).status == 0
                    )
                    let root = try copy.run("tree-head", "--json").text
                    #expect(try third.run("tree-head", "--json").text == root)
                }
            }
        }
    }

    /// How many lines of an export have no event, by reason.
    private func gaps(_ export: TraylogRun) throws -> [String: Double] {
        try export.outputs("lost").reduce(into: [:]) { counts, reason in
            if case .text(let reason)? = reason { counts[reason == "damaged" ? "lost" : reason, default: 0] += 1 }
        }
    }

    @Test func whatAnExportMissesItsRestoreMissesForTheSameReasons() throws {
        try withStore { store in
            try fill(store)
            try store.append(#"{"kind":"markAll","user":"user-1","as":"deleted"}"#)
            #expect(try store.run("compact", "--before", "60", "--yes").status == 0)
            #expect(try store.run("erase", "user-2", "--yes").status == 0)
            let path = URL(filePath: StoreFiles.data(of: store.directory))
            let data = try Data(contentsOf: path)
            var losing = 0
            for page in stride(from: 0, to: data.count / Self.pageBytes, by: sized(4, nightly: 1)) {
                var damaged = data
                damaged.replaceSubrange(
                    page * Self.pageBytes..<(page + 1) * Self.pageBytes, with: Data(count: Self.pageBytes))
                try damaged.write(to: path)
                let export = try TraylogRun.of(["--store", store.directory, "export", "--skip-damaged"])
                let missing = try gaps(export)
                if missing["lost"] != nil { losing += 1 }
                #expect(export.status == (missing["lost"] == nil ? 0 : 1), "page \(page)")
                for reason in ["erased", "compacted"] {
                    let said = export.errorLines.filter { $0.hasPrefix("traylog: \(reason): ") }
                    let count = missing[reason].map { Int($0) }
                    #expect(said.map { $0.split(separator: " ")[2] } == (count.map { ["\($0)"] } ?? []), "page \(page)")
                }
                try withStore { copy in
                    let arguments = ["--store", copy.directory, "restore", "-", "--json"]
                    let restore = try TraylogRun.of(arguments, input: export.output)
                    #expect(restore.status == 0, "page \(page): \(restore.errorText)")
                    for reason in ["lost", "erased", "compacted"] {
                        #expect(
                            try restore.outputs(reason) == [missing[reason].map { .number($0) }],
                            "page \(page), \(reason)")
                    }
                }
            }
            #expect(losing > 0)
        }
    }

    @Test func aDamagedEventRightBehindACompactedGapIsPassedOverOnce() throws {
        try withStore { store in
            let large = String(repeating: "x", count: 9_000)
            try store.append(
                #"{"kind":"notify","user":"ann","title":"Gone"}"#,
                #"{"kind":"markAll","user":"ann","as":"deleted","upTo":1}"#,
                #"{"kind":"notify","user":"bob","title":"Large","data":"\#(large)"}"#,
                #"{"kind":"notify","user":"bob","title":"Last"}"#)
            #expect(try store.run("compact", "--before", "4", "--yes").status == 0)
            let path = URL(filePath: StoreFiles.data(of: store.directory))
            var data = try Data(contentsOf: path)
            let piece = Data(large.utf8.prefix(1_000))
            var start = data.startIndex
            while let found = data.range(of: piece, in: start..<data.endIndex) {
                data[found.lowerBound] ^= 1
                start = found.upperBound
            }
            #expect(start > data.startIndex)
            try data.write(to: path)
            let export = try TraylogRun.of(["--store", store.directory, "export", "--skip-damaged"])
            #expect(try export.outputs("seq") == (1...5).map { .number(Double($0)) })
            #expect(try gaps(export) == ["compacted": 2, "lost": 1])
        }
    }

    @Test func aChangeOfABroadcastThatIsLostIsNamedApart() throws {
        try withStore { store in
            try store.append(
                #"{"kind":"broadcast","topic":"news","title":"One"}"#, #"{"kind":"edit","item":1,"title":"Two"}"#,
                #"{"kind":"notify","user":"ann","title":"Three"}"#)
            var lines = try store.run("export").lines
            lines[0] = #"{"seq":1,"lost":"damaged","stored":{"last":3}}"#
            let input = Data(lines.joined(separator: "\n").utf8)
            for isJSON in [true, false] {
                try withStore { copy in
                    let restore = try TraylogRun.of(
                        ["--store", copy.directory, "restore", "-"] + (isJSON ? ["--json"] : []), input: input)
                    if isJSON {
                        #expect(try restore.outputs("lost") == [.number(1)])
                        #expect(try restore.outputs("orphaned") == [.number(1)])
                    } else {
                        #expect(
                            restore.lines == [
                                "restored: 3 events, head 3, 1 of them lost, 1 orphaned", "lost: event 1",
                                "orphaned: event 2, of a broadcast that is missing",
                            ])
                    }
                }
            }
        }
    }

    private func titles(of user: String, in store: TestStore) throws -> [JSONValue?] {
        guard case .array(let items)? = try store.run("inbox", user, "--limit", "100", "--json").outputs("items")[0]
        else {
            return []
        }
        return items.map { if case .object(let item) = $0 { item["title"] } else { nil } }
    }
}
