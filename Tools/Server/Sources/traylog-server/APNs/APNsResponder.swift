import Foundation
import HTTPTypes
import Hummingbird
import Traylog

/// A reason, as Apple names them.
struct APNsError: Error {
    let status: Int
    let reason: String
    /// When the token was removed.
    var since: Timestamp?

    static let badCollapse = APNsError(status: 400, reason: "BadCollapseId")
    static let badToken = APNsError(status: 400, reason: "BadDeviceToken")
    static let badExpiration = APNsError(status: 400, reason: "BadExpirationDate")
    static let badMessage = APNsError(status: 400, reason: "BadMessageId")
    static let badPath = APNsError(status: 404, reason: "BadPath")
    static let badPriority = APNsError(status: 400, reason: "BadPriority")
    static let badPushType = APNsError(status: 400, reason: "InvalidPushType")
    static let internalFailure = APNsError(status: 500, reason: "InternalServerError")
    static let method = APNsError(status: 405, reason: "MethodNotAllowed")
    static let missingToken = APNsError(status: 400, reason: "MissingDeviceToken")
    static let payloadEmpty = APNsError(status: 400, reason: "PayloadEmpty")
    static let payloadTooLarge = APNsError(status: 413, reason: "PayloadTooLarge")
    static let shutdown = APNsError(status: 503, reason: "Shutdown")
    static let unavailable = APNsError(status: 503, reason: "ServiceUnavailable")

    static func unregistered(since: Timestamp) -> APNsError {
        APNsError(status: 410, reason: "Unregistered", since: since)
    }
}

/// Answers push providers as Apple's service does: `POST /3/device/{token}` becomes a notification of the token's user.
struct APNsResponder: HTTPResponder {
    let service: Service

    private static let longestPayload = 4_096
    private static let longestVoIPPayload = 5_120
    private static let longestCollapseID = 64
    private static let pushTypes: Set<String> = [
        "alert", "background", "location", "voip", "complication", "fileprovider", "mdm", "liveactivity", "pushtotalk",
        "controls", "widgets",
    ]

    /// Failures after which the provider sends again, here or to another node.
    private static let passing: Set<StoreFailure.Code> = [.diskFull, .mapFull, .notOwner, .unavailable]

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        let start = ContinuousClock.now
        let given = request.headers[.apnsID]
        let id = given ?? UUID().uuidString
        var headers: HTTPFields = [.apnsID: id]
        var body: [UInt8] = []
        var status = HTTPResponse.Status.ok
        do {
            try await push(request, id: id)
        } catch {
            let fault = fault(of: error)
            status = HTTPResponse.Status(code: fault.status)
            headers[.contentType] = "application/json"
            body =
                JSONValue.present([
                    ("reason", .string(fault.reason)), ("timestamp", fault.since.map { .int($0.milliseconds) }),
                ]).bytes
        }
        service.metrics.note(
            route: "/3/device/{token}", method: request.method.rawValue, status: status.code,
            seconds: (ContinuousClock.now - start) / .seconds(1))
        service.log.write([
            ("request", .string(id)), ("route", "/3/device/{token}"), ("status", .int(status.code)),
        ])
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    private func push(_ request: Request, id: String) async throws {
        guard !service.isDraining else { throw APNsError.shutdown }
        let path = request.head.path ?? "/"
        guard path.hasPrefix("/3/device") else { throw APNsError.badPath }
        guard request.method == .post else { throw APNsError.method }
        guard UUID(uuidString: id) != nil else { throw APNsError.badMessage }
        let (isBackground, longest) = try pushType(request.headers[.apnsPushType])
        if let priority = request.headers[.apnsPriority], !["1", "5", "10"].contains(priority) {
            throw APNsError.badPriority
        }
        let expiresAt = try expiration(request.headers[.apnsExpiration])
        let collapseKey = request.headers[.apnsCollapseID]
        if let collapseKey, !(1...Self.longestCollapseID).contains(collapseKey.utf8.count) {
            throw APNsError.badCollapse
        }
        let user = try owner(path)
        var payload = try await APNsPayload(body(of: request, atMost: longest), isBackground: isBackground)
        if let level = request.headers[.interruptionLevel] { payload.set(level: level) }
        payload.set(collapseKey: collapseKey, expiresAt: expiresAt)
        // Identifiers are the same in any case of letters.
        let command = Command(user: user, .notify(payload.content), key: id.lowercased())
        _ = try await service.store.perform(command)
    }

    /// Whose the token of the path is.
    private func owner(_ path: String) throws(APNsError) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 4, !parts[3].isEmpty else { throw .missingToken }
        guard parts.count == 4, let token = PercentEncoding.decode(parts[3]) else { throw .badPath }
        guard let device = service.devices.find(token) else { throw .badToken }
        guard let user = device.user else { throw .unregistered(since: device.since) }
        return user
    }

    private func pushType(_ name: String?) throws(APNsError) -> (isBackground: Bool, longest: Int) {
        guard let name else { return (false, Self.longestPayload) }
        guard Self.pushTypes.contains(name) else { throw .badPushType }
        return (name == "background", name == "voip" ? Self.longestVoIPPayload : Self.longestPayload)
    }

    /// Seconds since 1970.
    ///
    /// 0 means that Apple keeps nothing for later; a tray keeps it, without a time.
    private func expiration(_ text: String?) throws(APNsError) -> Timestamp? {
        guard let text else { return nil }
        guard let seconds = PercentEncoding.number(text), seconds < 1 << 37 else { throw .badExpiration }
        return seconds == 0 ? nil : Timestamp(milliseconds: Int64(seconds) * 1_000)
    }

    private func body(of request: Request, atMost longest: Int) async throws -> [UInt8] {
        var body: [UInt8] = []
        let parts = BodyParts(request.body)
        while let part = try await parts.next() {
            guard body.count + part.readableBytes <= longest else { throw APNsError.payloadTooLarge }
            body += part.readableBytesView
        }
        guard !body.isEmpty else { throw APNsError.payloadEmpty }
        return body
    }

    private func fault(of error: any Error) -> APNsError {
        switch error {
        case let fault as APNsError: return fault
        case TraylogError.refused(.keyConflict): return .badMessage
        case TraylogError.refused(.invalid(let field, _)):
            switch field {
            case "collapseKey": return .badCollapse
            case "expiresAt": return .badExpiration
            default: return .payloadTooLarge
            }
        case TraylogError.failed(let failure) where failure.code == .closed || failure.code == .busy: return .shutdown
        case TraylogError.failed(let failure) where Self.passing.contains(failure.code): return .unavailable
        default:
            service.log.write([("route", "/3/device/{token}"), ("error", .string("\(error)"))])
            return .internalFailure
        }
    }
}

extension HTTPField.Name {
    static let apnsID = Self("apns-id")!
    static let apnsPushType = Self("apns-push-type")!
    static let apnsPriority = Self("apns-priority")!
    static let apnsExpiration = Self("apns-expiration")!
    static let apnsCollapseID = Self("apns-collapse-id")!
    static let interruptionLevel = Self("interruption-level")!
}
