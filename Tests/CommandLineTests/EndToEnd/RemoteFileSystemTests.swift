import Foundation
import TestSupport
import Testing

/// A file system that reports itself as remote.
struct RemoteFileSystemTests {
    private static let source = """
        #include <sys/vfs.h>
        #include <string.h>
        __attribute__((visibility("default"))) int statfs(const char *path, struct statfs *answer) {
            memset(answer, 0, sizeof *answer);
            answer->f_type = 0x65735546;
            return 0;
        }
        """

    @Test(.enabled(if: SharedLibrary.compiler != nil, "needs cc, to compile a library"))
    func aRemoteFileSystemErrorAdvisesALocalDirectory() throws {
        try withDirectory { directory in
            let (source, library) = (directory + "/remote.c", directory + "/remote.so")
            try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
            try SharedLibrary.compile(source, to: library)
            let run = try TraylogRun.of(
                ["--store", directory + "/store", "notify", "ann", "--title", "Hi"],
                environment: ["LD_PRELOAD": library])
            #expect(run.status == 74)
            #expect(run.errorText.contains("FUSE") && run.errorText.contains("put the store on a local disk."))
            #expect(!run.errorText.contains("allow"), "\(run.errorText)")
        }
    }
}
