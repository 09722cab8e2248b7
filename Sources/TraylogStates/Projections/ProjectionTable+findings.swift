import TraylogDomain
import TraylogPages

extension ProjectionTable {
    /// Describes each stored projection that is damaged.
    package func findings(in transaction: borrowing ReadTransaction) throws -> [String] {
        var findings: [String] = []
        for projection in try all(in: transaction) {
            guard let reason = try damage(of: projection, in: transaction) else { continue }
            findings.append(
                "the projection \"\(projection.name)\" is damaged (\(reason)); its program folds the log again when it "
                    + "starts the projection")
        }
        return findings
    }

    private func damage(
        of projection: StoredProjection, in transaction: borrowing ReadTransaction
    ) throws -> String? {
        if let damage = projection.damage { return damage }
        do {
            _ = try stored(ProjectionName(projection.name), in: transaction)
            return nil
        } catch let error as PackedError {
            return error.reason
        }
    }
}
