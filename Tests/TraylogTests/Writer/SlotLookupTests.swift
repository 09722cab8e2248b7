import TestSupport
import Testing
import TraylogDomain

@testable import Traylog

/// The tables of slots against dictionaries.
@Suite struct SlotLookupTests {
    @Test(arguments: UInt64(0)..<10)
    func slotsAreFoundByNameAndByStreamUntilTheyAreRemoved(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let hasher = IdentityHasher(key0: random.next(), key1: random.next())
        var byName = SlotTable()
        var byStream = StreamSlots()
        var present: [UInt32: UserSlot] = [:]
        for _ in 0..<5_000 {
            let stream = UInt32(random.between(1, 1_000))
            if let slot = present.removeValue(forKey: stream) {
                byName.remove(slot)
                byStream[stream] = nil
            } else {
                let user = "user \(stream)"
                let slot = UserSlot(
                    name: .user(user), identity: hasher.identity(of: user, as: .user), stream: stream, isNamed: true)
                byName.insert(slot)
                byStream[stream] = slot
                present[stream] = slot
            }
        }
        for stream in UInt32(0)...2_000 {
            let user = "user \(stream)"
            #expect(byStream[stream] === present[stream])
            #expect(byName[user, hasher.identity(of: user, as: .user)] === present[stream])
        }
        #expect(byStream.all.map(\.stream) == present.keys.sorted())
    }

    @Test func placesLeadToTheUsersSlotsAndToNobodyElses() throws {
        let hasher = IdentityHasher(key0: 1, key1: 2)
        var table = SlotTable()
        let commands = (0..<100).map { Command(user: "user \($0)", .notify(Content())) }
        let prepared = PreparedCommands(commands, hasher: hasher)
        for index in stride(from: 0, to: 100, by: 2) {
            table.insert(
                UserSlot(
                    name: .user("user \(index)"), identity: prepared.entries[index].user, stream: UInt32(index + 1),
                    isNamed: true))
        }
        var places = SlotPlaces()
        for index in commands.indices {
            if index % SlotPlaces.capacity == 0 { table.look(for: prepared.entries.span, from: index, &places) }
            let identity = prepared.entries[index].user
            let slot = table["user \(index)", identity, at: places[index]]
            #expect(slot?.stream == (index.isMultiple(of: 2) ? UInt32(index + 1) : nil))
            #expect(table["user X", identity, at: places[index]] == nil)
            #expect(table["user \(index)", identity, at: 1_000_000] == nil)
        }
    }
}
