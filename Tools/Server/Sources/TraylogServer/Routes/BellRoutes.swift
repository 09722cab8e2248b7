import Crypto
import HTTPTypes
import Hummingbird
@_spi(Operations) import Traylog

/// The modules that an app's web page loads: `client.js`, `bell.js`, their types, and what they load when it is used.
///
/// They are compiled into the program, and any page may load them.
enum BellRoutes {
    private static let files: [(name: String, bytes: [UInt8])] =
        [
            ("client.js", PackageResources.client_js), ("bell.js", PackageResources.bell_js),
            ("settings.js", PackageResources.settings_js), ("icons.js", PackageResources.icons_js),
            ("title.js", PackageResources.title_js), ("menu.js", PackageResources.menu_js),
            ("system.js", PackageResources.system_js), ("groups.js", PackageResources.groups_js),
            ("ar.js", PackageResources.ar_js), ("de.js", PackageResources.de_js), ("es.js", PackageResources.es_js),
            ("fr.js", PackageResources.fr_js), ("it.js", PackageResources.it_js), ("ja.js", PackageResources.ja_js),
            ("pt.js", PackageResources.pt_js), ("zh.js", PackageResources.zh_js),
        ].map { ($0, plain($1)) } + [
            ("client.d.ts", PackageResources.client_d_ts), ("bell.d.ts", PackageResources.bell_d_ts),
        ]

    /// A module without indentation, empty lines and lines of comment, which a page would load for nothing.
    ///
    /// No template literal of theirs depends on such lines.
    private static func plain(_ module: [UInt8]) -> [UInt8] {
        let lines = module.split(separator: UInt8(ascii: "\n")).map { $0.drop { $0 == UInt8(ascii: "\t") } }
        return Array(lines.filter { !$0.isEmpty && !$0.starts(with: "//".utf8) }.joined(separator: "\n".utf8))
    }

    static var all: [Route] {
        files.map { file in
            let bytes = ByteBuffer(bytes: file.bytes)
            let etag = "\"\(Array(SHA256.hash(data: file.bytes).prefix(12)).hex)\""
            return Route(
                .get, "/bell/v1/\(file.name)",
                as:
                    "getModule\(file.name.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined())",
                "The module \(file.name) for web pages", .free, origins: .any,
                manner: .file, partition: .any, answers: .text("text/javascript")
            ) { call in
                guard call.service.configuration.hasBell else {
                    throw Problem(.notFound, "Not found", "this server was started with --no-bell")
                }
                var headers: HTTPFields = [
                    // A page is to have a new version within the hour, and asks by the tag then.
                    .eTag: etag, .cacheControl: "public, max-age=3600", .resourcePolicy: "cross-origin",
                ]
                if try call.matches(etag) { return Response(status: .notModified, headers: headers) }
                headers[.contentType] = "text/javascript"
                return Response(
                    status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
            }
        }
    }
}
