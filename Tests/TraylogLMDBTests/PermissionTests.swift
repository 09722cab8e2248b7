import Foundation
import Testing
import TraylogLMDB

/// Permissions to open a store; only root can change users, so other users skip these.
@Suite(.enabled(if: getuid() == 0, "Only root can become another user.")) struct PermissionTests {
    @Test func aForeignUserGetsAccessDenied() async throws {
        try await withPath { path in
            try openWriter(path).close()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                let codes = [
                    try failureCode { try openReader(path) }, try failureCode { try openWriter(path) },
                ]
                #expect(codes == [.permissionDenied, .permissionDenied])
            }
        }
    }

    @Test func rootsVisitDoesNotLockTheOwnerOut() async throws {
        try await withPath { path in
            try openWriter(path).close()
            let owner: [FileAttributeKey: Any] = [.ownerAccountID: 65534, .groupOwnerAccountID: 65534]
            for file in ["", "/CURRENT", "/data-1", "/data-1/data.mdb"] {
                try FileManager.default.setAttributes(owner, ofItemAtPath: path + file)
            }
            for file in ["data-1/lock.mdb", "open.lock", "writer.lock"] {
                try FileManager.default.removeItem(atPath: path + "/" + file)
            }
            try openWriter(path).close()
            await #expect(processExitsWith: .success) { [path = path as String] in
                _ = setuid(65534)
                try openWriter(path).close()
                try openReader(path).close()
            }
        }
    }
}
