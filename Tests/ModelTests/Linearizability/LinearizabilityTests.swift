import Foundation
import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog
import TraylogDomain
import TraylogPlatform

/// Many clients at once, in this process and in others: one order of events explains all their answers.
@Suite struct LinearizabilityTests {
    @Test(arguments: seeds(1, nightly: 40))
    func oneOrderOfEventsExplainsAllAnswers(seed: UInt64) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "traylog-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let recorder = HistoryRecorder()
        try await record(directory.path + "/store", seed, recorder)
        #expect(recorder.failures.isEmpty, "seed \(seed): \(recorder.failures)")
        let history = recorder.history
        #expect(history.operations.count > 300 && !history.events.isEmpty, "seed \(seed)")
        let complaints = HistoryCheck.complaints(about: history)
        #expect(complaints.isEmpty, "seed \(seed): \(complaints.prefix(3))")
    }

    private func record(_ path: String, _ seed: UInt64, _ recorder: HistoryRecorder) async throws {
        var options = StoreOptions()
        options.ticking = .manual
        // Flushing goes on all the time, and states leave the cache.
        options.tailEvents = 40
        options.cacheBytes = 20_000
        options.landmarkDistance = 30
        options.durability = seed % 2 == 0 ? .relaxed : .durable
        let store = try Store.open(path, options: options)
        let observers = try await observers(of: store, recorder)
        let threads = (0..<5).map { thread(store, $0, seed, recorder) } + [outside(path, recorder)]
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { await task(store, number, seed, recorder) } }
        }
        for thread in threads { thread.join() }
        recorder.finish(try await store.log.events(from: 1, limit: .max).elements)
        // Closing ends the sequences at once, whatever is still to come.
        for observer in observers { try await observer.reachEnd(of: store) }
        await store.close()
        for observer in observers { await observer.value() }
    }

    /// A client that blocks a thread.
    private func thread(
        _ store: Store, _ number: Int, _ seed: UInt64, _ recorder: HistoryRecorder
    ) -> OSThread {
        startThread("client") {
            var commands = ClientCommands(seed: seed &* 1_000 &+ UInt64(number))
            var random = SeededRandom(seed: ~seed &- UInt64(number))
            do {
                for _ in 0..<sized(25, nightly: 60) {
                    try recorder.perform(commands.next(), on: store, as: "thread \(number)")
                    try recorder.ask(store, commands.user(), as: "thread \(number)", &random)
                }
            } catch {
                recorder.addFailure("thread \(number): \(error)")
            }
        }
    }

    /// A client that awaits.
    private func task(_ store: Store, _ number: Int, _ seed: UInt64, _ recorder: HistoryRecorder) async {
        var commands = ClientCommands(seed: seed &* 1_000 &+ UInt64(100 + number))
        do {
            for _ in 0..<sized(25, nightly: 60) {
                try await recorder.perform(commands.next(), on: store, as: "task \(number)")
                let (began, user) = (recorder.tick(), commands.user())
                recorder.add("task \(number)", since: began, .tray(try await store.tray(of: user)))
            }
        } catch {
            recorder.addFailure("task \(number): \(error)")
        }
    }

    /// A client whose questions are asked by other processes.
    private func outside(_ path: String, _ recorder: HistoryRecorder) -> OSThread {
        startThread("outside") {
            do {
                for round in 0..<sized(8, nightly: 30) {
                    let user = ClientCommands.users[round % ClientCommands.users.count]
                    try recorder.askOutside(TraylogProgram(store: path), user, as: "process \(round)")
                }
            } catch {
                recorder.addFailure("outside: \(error)")
            }
        }
    }

    private func observers(of store: Store, _ recorder: HistoryRecorder) async throws -> [Observer] {
        ClientCommands.users.map { user in Observer(of: user, store.trayUpdates(of: user), recorder) }
            + [Observer(store.follow(from: 1), recorder)]
    }
}

/// A task that collects what a sequence gives until the store ends it.
private struct Observer: Sendable {
    /// Whose tray it observes; nil for who follows the log.
    private let user: String?
    private let task: Task<Void, Never>
    private let newest: Monitor<(tray: Tray?, seq: Seq)>

    init(of user: String, _ updates: some AsyncSequence<Tray, TraylogError> & Sendable, _ recorder: HistoryRecorder) {
        self.user = user
        let newest = Monitor<(tray: Tray?, seq: Seq)>((nil, .zero))
        self.newest = newest
        task = Task {
            var trays: [Tray] = []
            do {
                for try await tray in updates {
                    trays.append(tray)
                    newest.withLock { $0.tray = tray }
                }
            } catch {
                recorder.addFailure("observer: \(error)")
            }
            recorder.addObserved(trays)
        }
    }

    init(_ log: some AsyncSequence<Event, TraylogError> & Sendable, _ recorder: HistoryRecorder) {
        user = nil
        let newest = Monitor<(tray: Tray?, seq: Seq)>((nil, .zero))
        self.newest = newest
        task = Task {
            var events: [Event] = []
            do {
                for try await event in log {
                    events.append(event)
                    newest.withLock { $0.seq = event.seq }
                }
            } catch {
                recorder.addFailure("follower: \(error)")
            }
            recorder.addFollowed(events)
        }
    }

    /// Waits until it has all events of the store, to which nobody writes any more.
    func reachEnd(of store: Store) async throws {
        let head = try await store.log.head()
        while true {
            let now = newest.withLock { $0 }
            guard let user else {
                if now.seq == head { return }
                await Task.yield()
                continue
            }
            // What changes only these is no news to an observer.
            var tray = try await store.tray(of: user)
            (tray.asOf, tray.revision) = (now.tray?.asOf ?? .zero, now.tray?.revision ?? 0)
            if tray == now.tray { return }
            await Task.yield()
        }
    }

    func value() async { await task.value }
}
