import Testing
import TraylogClient

struct LaneTests {
    @Test func aLaneIsFirstInFirstOutAndLanesDoNotWaitForEachOther() async throws {
        try await withOutbox { tested in
            for text in ["T1", "I1", "I2", "T2", "T3", "I3"] {
                _ = try await tested.enqueue(text, text.first == "T" ? "text" : "media")
            }
            var held: [ScriptedTransport.Request] = []
            var arrived: [String] = []
            // The media lane is slow: its first request stays unanswered until the texts are through.
            while arrived.count < 3 {
                let request = await tested.transport.next()
                if request.text.hasPrefix("I") {
                    held.append(request)
                } else {
                    arrived.append(request.text)
                    request.succeed()
                }
            }
            #expect(arrived == ["T1", "T2", "T3"])
            #expect(held.map(\.text) == ["I1"])
            held[0].succeed()
            arrived.append("I1")
            for _ in 0..<2 {
                let request = await tested.transport.next()
                arrived.append(request.text)
                request.succeed()
            }
            #expect(arrived == ["T1", "T2", "T3", "I1", "I2", "I3"])
        }
    }

    @Test func oneEntryOfALaneIsInFlight() async throws {
        try await withOutbox { tested in
            let first = try await tested.enqueue("T1")
            let second = try await tested.enqueue("T2")
            let request = await tested.transport.next()
            #expect(await tested.outbox.entry(first)?.state == .syncing)
            #expect(await tested.outbox.entry(second)?.state == .queued)
            #expect(tested.transport.count == 1)
            request.succeed()
            #expect(await tested.transport.next().text == "T2")
        }
    }

    @Test func everyChangeOfAnEntryIsReported() async throws {
        try await withOutbox(isStarted: false) { tested in
            let updates = await tested.outbox.updates
            let path = try tested.file("photo", 10)
            let id = try await tested.outbox.enqueue([1], lane: "media", attachment: path).id
            await tested.outbox.start()
            let upload = await tested.transport.next()
            #expect(upload.isUpload)
            upload.progress(0.5)
            var iterator = updates.makeAsyncIterator()
            var told: [String] = []
            func take() async {
                guard let entry = await iterator.next() else { return }
                told.append(entry.state.rawValue + (entry.fraction.map { " \($0)" } ?? ""))
            }
            for _ in 0..<3 { await take() }
            upload.succeed("https://files/1")
            let send = await tested.transport.next()
            #expect(send.entry.attachment?.location == "https://files/1")
            send.succeed()
            for _ in 0..<2 { await take() }
            #expect(told == ["queued", "uploading 0.0", "uploading 0.5", "syncing", "synced"])
            #expect(await tested.outbox.outcome(of: id) == .synced(receipt: Array("ok".utf8)))
        }
    }

    @Test func theOutcomeOfAnEntryCanBeAwaited() async throws {
        try await withOutbox { tested in
            let id = try await tested.enqueue("T1")
            async let outcome = tested.outbox.outcome(of: id)
            await tested.transport.next().fail(.reject(code: "forbidden", "no"))
            #expect(await outcome == .failed(.init(code: "forbidden", message: "no")))
            #expect(await tested.outbox.outcome(of: "nobody") == .over)
        }
    }
}
