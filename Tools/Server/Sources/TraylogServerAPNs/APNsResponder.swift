import TraylogServer
import Foundation
import HTTPTypes
import Hummingbird
@_spi(Operations) @_spi(Wire) import Traylog

/// A reason, as Apple names them.
struct APNsError: Error {
    let status: Int
    let reason: String
    /// When the token was removed.
    var since: Timestamp?
    /// The header that is no text.
    var field: String?

    static let badCollapse = APNsError(status: 400, reason: "BadCollapseId")
    static let badToken = APNsError(status: 400, reason: "BadDeviceToken")
    static let badExpiration = APNsError(status: 400, reason: "BadExpirationDate")
    /// No name of Apple's: their service does not have the header.
    static let badLevel = APNsError(status: 400, reason: "BadInterruptionLevel")
    static let badMessage = APNsError(status: 400, reason: "BadMessageId")
    static let badPath = APNsError(status: 404, reason: "BadPath")
    static let badPriority = APNsError(status: 400, reason: "BadPriority")
    static let badPushType = APNsError(status: 400, reason: "InvalidPushType")
    static let internalFailure = APNsError(status: 500, reason: "InternalServerError")
    static let idleTimeout = APNsError(status: 400, reason: "IdleTimeout")
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
///
/// It goes the way of every notification, so that another node decides where it has to.
struct APNsResponder: HTTPResponder {
    let service: HTTPService
    /// Nil for a server with one store.
    let partitions: Partitions?

    private static let longestPayload = 4_096
    private static let longestVoIPPayload = 5_120
    private static let longestCollapseID = 64
    private static let pushTypes: Set<String> = [
        "alert", "background", "location", "voip", "complication", "fileprovider", "mdm", "liveactivity", "pushtotalk",
        "controls", "widgets",
    ]

    func respond(to request: Request, context: ServiceContext) async throws -> Response {
        let start = ContinuousClock.now
        // One that is no text is refused below.
        let given = try? request.headers.text(.apnsID)
        let id = given ?? UUID().uuidString
        var headers: HTTPFields = [.apnsID: id]
        var body: [UInt8] = []
        var status = HTTPResponse.Status.ok
        do {
            try await push(request, context, id: id)
        } catch {
            let fault = fault(of: error)
            status = HTTPResponse.Status(code: fault.status)
            headers[.contentType] = "application/json"
            body =
                JSONValue.present([
                    ("reason", .string(fault.reason)), ("timestamp", fault.since.map { .int($0.milliseconds) }),
                    ("field", fault.field.map { .string($0) }),
                ]).bytes
        }
        service.metrics.note(
            route: "/3/device/{token}", method: request.method == .post ? "POST" : "other", status: status.code,
            duration: ContinuousClock.now - start)
        service.log.note { [status] line in
            line.member("request", id)
            line.member("route", "/3/device/{token}")
            line.member("status", status.code)
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    private func push(_ request: Request, _ context: ServiceContext, id: String) async throws {
        guard !service.isDraining else { throw APNsError.shutdown }
        guard let path = try? request.target(), path.hasPrefix("/3/device") else { throw APNsError.badPath }
        guard request.method == .post else { throw APNsError.method }
        _ = try text(.apnsID, of: request, .badMessage)
        guard UUID(uuidString: id) != nil else { throw APNsError.badMessage }
        let (isBackground, longest) = try pushType(text(.apnsPushType, of: request, .badPushType))
        if let priority = try text(.apnsPriority, of: request, .badPriority), !["1", "5", "10"].contains(priority) {
            throw APNsError.badPriority
        }
        let expiresAt = try expiration(text(.apnsExpiration, of: request, .badExpiration))
        let collapseKey = try text(.apnsCollapseID, of: request, .badCollapse)
        if let collapseKey, !(1...Self.longestCollapseID).contains(collapseKey.utf8.count) {
            throw APNsError.badCollapse
        }
        let level = try text(.interruptionLevel, of: request, .badLevel)
        let user = try await owner(path)
        var payload = try await APNsPayload(body(of: request, atMost: longest), isBackground: isBackground)
        if let level { payload.set(level: level) }
        payload.set(collapseKey: collapseKey, expiresAt: expiresAt)
        // Identifiers are the same in any case of letters.
        let answer = try await notification(of: user, payload.content, key: id.lowercased(), context).answer()
        if answer.status.code >= 400 {
            throw fault(answer.status.code, try JSONValue(json: try await answer.wholeBody()))
        }
    }

    /// A header's value.
    ///
    /// - Throws: the fault of a value that is no text, with the header's name.
    private func text(
        _ name: HTTPField.Name, of request: Request, _ fault: APNsError
    ) throws(APNsError) -> String? {
        do { return try request.headers.text(name) } catch {
            var fault = fault
            fault.field = name.rawName
            throw fault
        }
    }

    /// The request that notifies the user.
    ///
    /// Providers have no credentials that another node takes, so it has this node's.
    private func notification(
        of user: String, _ content: Content, key: String, _ context: ServiceContext
    ) throws -> Call {
        let path = "/v1/users/\(PercentEncoding.encode(user))/notifications"
        var headers: HTTPFields = [.contentType: "application/json", .idempotencyKey: key]
        let body = content.jsonBytes
        headers[.authorization] = service.pass?.credentials("POST", path, body: body)
        let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: path, headerFields: headers)
        let (route, values) = try service.routes.find(.post, path: path[...])
        return Call(
            request: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body))), route: route,
            service: partitions?.service(of: user) ?? service, partitions: partitions, caller: .node,
            credential: .none, channel: context.channel, path: values, query: [:])
    }

    /// Whose the token of the path is.
    private func owner(_ path: String) async throws -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 4, !parts[3].isEmpty else { throw APNsError.missingToken }
        guard parts.count == 4, let token = PercentEncoding.decode(parts[3]) else { throw APNsError.badPath }
        guard let device = try await service.devices.find(Device.folded(token)) else { throw APNsError.badToken }
        guard let user = device.user else { throw APNsError.unregistered(since: device.since) }
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
        guard let seconds = WireNumber(text)?.within(Int64(0)...1 << 37) else { throw .badExpiration }
        return seconds == 0 ? nil : Timestamp(milliseconds: seconds * 1_000)
    }

    private func body(of request: Request, atMost longest: Int) async throws -> [UInt8] {
        let body = try await request.wholeBody(atMost: longest, holding: nil, service.admission)
        guard !body.isEmpty else { throw APNsError.payloadEmpty }
        return body
    }

    private func fault(of error: any Error) -> APNsError {
        if let fault = error as? APNsError { return fault }
        let problem = Problem(error)
        if problem.status.code == 500 {
            service.log.write([("route", "/3/device/{token}"), ("error", .string("\(error)"))])
        }
        return fault(problem.status.code, (try? JSONValue(json: problem.json)) ?? .null)
    }

    /// - Parameter problem: as RFC 9457 says it.
    private func fault(_ status: Int, _ problem: JSONValue) -> APNsError {
        switch (status, problem["error"]?.string, problem["field"]?.string) {
        case (_, "keyConflict", _): .badMessage
        case (_, "invalid", "collapseKey"): .badCollapse
        case (_, "invalid", "expiresAt"): .badExpiration
        case (_, "invalid", _?): .payloadTooLarge
        // The provider has cut its push off, or sent nothing for too long.
        case (400, _, _), (408, _, _): .idleTimeout
        case (413, _, _): .payloadTooLarge
        // The provider sends again, here or to another node.
        case (503, _, _), (507, _, _): .unavailable
        default: .internalFailure
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
