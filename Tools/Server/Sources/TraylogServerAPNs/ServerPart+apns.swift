import TraylogServer

extension ServerPart {
    /// Experimental: takes pushes of programs that speak to Apple's service (`--apns-listen`).
    public static var apns: ServerPart {
        ServerPart(providers: { service, partitions in
            let responder = APNsResponder(service: service, partitions: partitions)
            return { request, context in try await responder.respond(to: request, context: context) }
        })
    }
}
