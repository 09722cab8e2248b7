import Foundation
import Testing
import Traylog

final class ErrorExamples {
    private var log: [String] = []

    // example: errors
    func answer(_ user: String, _ store: Store) async -> Int {
        do throws(TraylogError) {
            return try await store.tray(of: user).unread
        } catch {
            switch error {
            case .refused(let refusal): log.append("\(user): \(refusal.message)")
            case .failed(let failure):
                log.append("\(failure.code.rawValue) at \(failure.path ?? "?"): \(failure.message)")
            }
            return 0
        }
    }
    // end

    // example: one error
    func notifyOnce(_ store: Store) async throws {
        do {
            try await store.notify("ann", title: "Build 17 failed", key: "build-17")
        } catch {
            guard error.refusal?.code == .keyConflict else { throw error }
            log.append("used before: \(error.message)")
        }
    }
    // end

    @Test func oneErrorIsLookedAtAndTheOthersAreThrownOn() async throws {
        let store = try Store.temporary()
        try await store.notify("ann", title: "Another build", key: "build-17")
        try await notifyOnce(store)
        #expect(log.count == 1 && log[0].hasPrefix("used before: "))
        await store.close()
        await #expect(throws: TraylogError.self) { try await self.notifyOnce(store) }
    }

    // example: trying again
    func deliver(_ command: Command, to store: Store) async throws -> Receipt {
        for delay in [1, 5, 30] {
            do throws(TraylogError) {
                return try await store.perform(command)
            } catch {
                guard error.isTransient else { throw error }
                try await Task.sleep(for: .seconds(delay))
            }
        }
        return try await store.perform(command)
    }
    // end

    // example: cancelling
    func countUnread(_ store: Store) async throws -> Int {
        try await TraylogError.translatingCancellation {
            var unread = 0
            for try await user in store.allUsers() { unread += Int(try await store.tray(of: user).unread) }
            return unread
        }
    }
    // end

    @Test func unreadItemsOfAllAreCounted() async throws {
        let store = try Store.temporary()
        for user in ["ann", "bob"] { try await store.notify(user, title: "Hi") }
        #expect(try await countUnread(store) == 2)
        await store.close()
    }

    @Test func anErrorIsLookedAtWithASwitch() async throws {
        let store = try Store.temporary()
        #expect(try await deliver(.notify("ann", title: "Hi", key: "k"), to: store) == .appended(1))
        #expect(try await deliver(.notify("ann", title: "Hi", key: "k"), to: store) == .duplicate(1))
        #expect(await answer("ann", store) == 1)
        #expect(await answer("", store) == 0)
        await store.close()
        #expect(await answer("ann", store) == 0)
        #expect(log.count == 2 && log[0].contains("must not be empty") && log[1].hasPrefix("closed at "))
        await #expect(throws: TraylogError.self) { try await self.deliver(.seeTray(of: "ann"), to: store) }
    }
}
