import Hummingbird
@_spi(Replication) import Traylog

/// Whose the device tokens are that push providers send to.
enum DeviceRoutes {
    static var all: [Route] {
        [
            Route(
                .put, "/v1/users/{u}/devices/{token}", as: "registerDevice", "Say whose a device is", .key(.users),
                origins: .allowed,
                body: .fields([]), node: .each,
                status: 204, answers: .none
            ) { call in
                _ = try await call.members([])
                try await call.service.devices.register(token(call), of: user(call))
                return .noContent
            },
            Route(
                .delete, "/v1/users/{u}/devices/{token}", as: "forgetDevice", "Forget a device", .key(.users),
                origins: .allowed,
                body: .fields([]), node: .each,
                status: 204, answers: .none
            ) { call in
                _ = try await call.members([])
                try await call.service.devices.remove(token(call), of: user(call))
                return .noContent
            },
            Route(
                .get, "/v1/users/{u}/devices", as: "listDevices", "A user's devices", .key(.users), origins: .allowed,
                answers: .json(.devices)
            ) { call in
                let devices = try await call.service.devices.list(of: user(call)).map { device -> JSONValue in
                    ["token": .string(device.token), "since": .string(device.since.description)]
                }
                return .json(["devices": .array(devices)])
            },
        ]
    }

    /// The user of the path, if it can be one.
    private static func user(_ call: Call) async throws -> String {
        _ = try await call.store.version(of: call.user)
        return call.user
    }

    private static func token(_ call: Call) throws(Problem) -> String {
        let token = call.segment("token")
        guard (1...Device.longestToken).contains(token.utf8.count), token.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
        else { throw .invalid("token", "must have 1 to \(Device.longestToken) bytes, without blanks") }
        return Device.folded(token)
    }
}
