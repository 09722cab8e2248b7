import Synchronization
import TraylogClient

/// A storage in memory that a test can fill up and damage.
final class MemoryStorage: DeviceStorage {
    private let tables = Mutex<[DeviceTable: [UInt64: [UInt8]]]>([:])
    private let full = Mutex(false)

    var isFull: Bool {
        get { full.withLock { $0 } }
        set { full.withLock { $0 = newValue } }
    }

    func flip(byte: Int, of key: UInt64, in table: DeviceTable) {
        tables.withLock { $0[table]?[key]?[byte] ^= 1 }
    }

    func value(_ key: UInt64, in table: DeviceTable) -> [UInt8]? { tables.withLock { $0[table]?[key] } }

    func row(atOrBelow key: UInt64, in table: DeviceTable) -> DeviceRow? {
        tables.withLock { tables in
            guard let rows = tables[table], let found = rows.keys.filter({ $0 <= key }).max() else { return nil }
            return rows[found].map { DeviceRow(key: found, value: $0) }
        }
    }

    func forEach(in table: DeviceTable, from first: UInt64, _ body: (DeviceRow) -> Bool) {
        for (key, value) in tables.withLock({ $0[table] ?? [:] }).sorted(by: { $0.key < $1.key })
        where key >= first {
            guard body(DeviceRow(key: key, value: value)) else { return }
        }
    }

    func write(_ changes: [DeviceChange]) throws(DeviceFailure) {
        guard !isFull else { throw DeviceFailure(.diskFull, "The disk is full.") }
        tables.withLock { tables in
            for change in changes {
                switch change {
                case .put(let table, let key, let value): tables[table, default: [:]][key] = value
                case .remove(let table, let key): tables[table]?[key] = nil
                case .clear(let table): tables[table] = [:]
                }
            }
        }
    }

    func close() {}
    func discardReplica() { tables.withLock { $0 = [.outbox: $0[.outbox] ?? [:]] } }
    func destroy() { tables.withLock { $0 = [:] } }
}
