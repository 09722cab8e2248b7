import TestSupport
import Testing
@_spi(Operations) @_spi(Replication) import Traylog

/// Readers who stay while people are erased and others get their names.
@Suite struct ErasedStreamModelTests {
    /// Ten histories a block.
    @Test(arguments: seeds(1, nightly: 200))
    func everyReaderGetsOnePersonsNotificationsAndAllOfThem(block: UInt64) async throws {
        for seed in block * 10..<block * 10 + 10 {
            let run = try Run(seed: seed)
            do { try await run.play() } catch {
                Issue.record("seed \(seed): \(error)")
            }
            await run.store.close()
        }
    }
}

/// The events that a reader of one name got.
private struct Reading: Sendable {
    let user: String
    /// The newest event when it began.
    let start: Seq
    var titles: [String] = []
    var isErased = false
}

/// The last notification of a name.
private let last = "last"

/// One history: three names, and the people who have them one after the other.
private final class Run {
    private static let names = ["ann", "bob", "cleo"]

    let store: Store
    private let seed: UInt64
    private var random: SeededRandom
    /// How many people have had each name.
    private var people: [String: Int] = [:]
    /// Those who have one now.
    private var present: Set<String> = []
    /// By person: the titles in order, with their seqs.
    private var sent: [String: [(seq: Seq, title: String)]] = [:]
    private var readers: [Task<Reading, any Error>] = []
    private var trays: [Task<[Set<String>], any Error>] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed &* 7_919 &+ 13)
        store = try Store.temporary()
    }

    private func person(_ name: String) -> String { "\(name) \(people[name] ?? 0)" }

    private func notify(_ name: String, _ text: String) async throws {
        if present.insert(name).inserted { people[name, default: 0] += 1 }
        let title = "\(person(name))/\(text)"
        let receipt = try await store.perform(
            Command(user: name, .notify(Content(category: person(name), title: title))))
        sent[person(name), default: []].append((try #require(receipt.seq), title))
    }

    func play() async throws {
        for step in 0..<random.between(12, 30) {
            let name = random.pick(Self.names)
            switch random.below(10) {
            case 0..<5: try await notify(name, "\(step)")
            case 5, 6:
                try await store.erase(name)
                present.remove(name)
                // Sometimes before anybody has looked.
                if random.chance(60) { try await notify(name, "\(step)") }
            default: try await beginToRead(name)
            }
        }
        // Whoever follows somebody who is there ends with this.
        for name in Self.names { try await notify(name, last) }
        for reader in readers { try check(await reader.value) }
        for tray in trays {
            let people = try await tray.value.reduce(into: Set<String>()) { $0.formUnion($1) }
            #expect(people.count <= 1, "seed \(seed): a tray showed \(people)")
        }
    }

    private func beginToRead(_ name: String) async throws {
        let start = try await store.log.head()
        let stream = try await store.changes(of: name, after: start).stream
        readers.append(Task { [store] in try await read(store, name, start, stream) })
        if random.chance(50) { trays.append(Task { [store] in try await watch(store, name) }) }
    }

    private func check(_ reading: Reading) throws {
        let people = Set(reading.titles.compactMap { $0.split(separator: "/").first.map(String.init) })
        #expect(people.count <= 1, "seed \(seed): a reader of \(reading.user) got \(reading.titles)")
        guard let person = people.first else { return }
        let due = (sent[person] ?? []).filter { $0.seq > reading.start }.map(\.title)
        // Events erased before they were read are gone.
        let expected = reading.isErased ? Array(due.prefix(reading.titles.count)) : due
        #expect(reading.titles == expected, "seed \(seed): a reader of \(reading.user) after \(reading.start)")
    }
}

/// What a reader is given, through the last notification or the end.
private func read(_ store: Store, _ name: String, _ start: Seq, _ stream: UInt32) async throws -> Reading {
    var reading = Reading(user: name, start: start)
    do {
        for try await changes in store.followChanges(of: name, after: start, stream: stream) {
            reading.titles += changes.events.compactMap(\.title)
            if reading.titles.last?.hasSuffix("/" + last) ?? false { break }
        }
    } catch {
        guard isErased(error) else { throw error }
        reading.isErased = true
    }
    return reading
}

/// The categories of each tray that somebody is shown: a category names the person.
private func watch(_ store: Store, _ name: String) async throws -> [Set<String>] {
    var shown: [Set<String>] = []
    do {
        for try await tray in store.trayUpdates(of: name) {
            shown.append(Set(tray.categories.map(\.category)))
            if try await store.changes(of: name).events.last?.title?.hasSuffix("/" + last) ?? false { break }
        }
    } catch {
        // It may end with its person.
        guard isErased(error) else { throw error }
    }
    return shown
}

private func isErased(_ error: any Error) -> Bool {
    guard case .refused(let refusal)? = error as? TraylogError else { return false }
    return refusal.code.rawValue == "erased"
}

extension Event {
    fileprivate var title: String? { if case .notified(let content) = body { content.title } else { nil } }
}
