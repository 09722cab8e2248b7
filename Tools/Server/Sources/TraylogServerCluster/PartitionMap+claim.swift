import TraylogServer

extension PartitionMap {
    /// Compares with what the streams were made with: the first node that starts says how many there are.
    func claim(_ stream: String, at connection: any BrokerRequests, replicas: Int) throws(BrokerError)
        -> OtherPartitions?
    {
        let jetStream = JetStream(connection: connection)
        let bucket = Bucket(jetStream: jetStream, name: "traylog_\(stream)_partitions")
        let made: Int
        if count > 1 {
            if try jetStream.stream(stream) != nil {
                made = 1
            } else {
                try bucket.make(lasting: nil, replicas: replicas)
                do throws(BrokerError) {
                    try bucket.put("count", Array("\(count)".utf8), replacing: 0)
                } catch .refused(let code, _) where code == BrokerError.wrongLastSequence {}
                made = try Self.count(bucket)
            }
        } else {
            guard try jetStream.stream("KV_traylog_\(stream)_partitions") != nil else { return nil }
            made = try Self.count(bucket)
        }
        guard made != count else { return nil }
        return OtherPartitions(
            description:
                "the stream \(stream) was made with --partitions \(made), not \(count); the number never changes")
    }

    private static func count(_ bucket: Bucket) throws(BrokerError) -> Int {
        guard let (bytes, _) = try bucket.get("count"), let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw .malformed("a bucket of partitions without their number")
        }
        return count
    }
}
