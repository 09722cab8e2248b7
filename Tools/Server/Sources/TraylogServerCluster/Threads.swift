import TraylogServer
import Dispatch
import Synchronization

enum Threads {
    /// What `body` returns for each number below `count`, each on a thread of its own; the first error counts.
    static func each<Value: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws(BrokerError) -> Value
    ) throws(BrokerError) -> [Value] {
        let results = Mutex<[Int: Result<Value, BrokerError>]>([:])
        let group = DispatchGroup()
        for index in 0..<count {
            DispatchQueue(label: "traylog.broker.rival").async(group: group) {
                let result = Result { () throws(BrokerError) in try body(index) }
                results.withLock { $0[index] = result }
            }
        }
        group.wait()
        let all = results.withLock { $0 }
        var values: [Value] = []
        for index in 0..<count {
            guard let result = all[index] else { throw .unanswered("a thread did not end") }
            values.append(try result.get())
        }
        return values
    }
}
