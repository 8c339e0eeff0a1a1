import { createServer, type Server, type ServerOptions } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { Logger } from "pino";
import { answerBrokenRequest } from "./broken-request.ts";
import { type Certificate, type CertificateFiles, watchCertificate } from "./certificate.ts";

/** The server of HTTP over TLS, which takes a new certificate while it runs. */
export interface TlsServer {
  readonly server: Server;
  /** Looks at once whether there is a new certificate, as it else does every few seconds. */
  reloadCertificate(): Promise<void>;
  /** Takes care of a connection that failed before it was TLS; false for any other. */
  refuseHandshake(error: { readonly code?: string }, socket: Socket): boolean;
  /** Drops the connections that are not yet TLS: no request is lost with them. */
  closeHandshakes(): void;
}

/** @param certificate what the files hold */
export function createTlsServer(
  files: CertificateFiles,
  certificate: Certificate,
  options: ServerOptions,
  log: Logger,
): TlsServer {
  const server = createServer({ ...options, ...contextOf(certificate) });
  const watch = watchCertificate(files, certificate, {
    replace: (next) => server.setSecureContext(contextOf(next)), // connections that are there go on
    log,
  });
  server.on("listening", watch.start);
  server.on("close", watch.stop);

  /** The bare connections that are not yet TLS: neither would closing the server close them, nor can Node.js answer them. */
  const handshakes = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const ends = endsOf(socket);
    handshakes.set(ends, socket);
    socket.once("close", () => handshakes.delete(ends));
  });
  server.on("secureConnection", (socket) => handshakes.delete(endsOf(socket)));

  return {
    server,
    reloadCertificate: watch.check,
    refuseHandshake(error, socket) {
      const bare = handshakes.get(endsOf(socket));
      if (bare === undefined) return false;
      if (error.code === "ERR_SSL_HTTP_REQUEST") {
        answerBrokenRequest(error, bare, log);
        return true;
      }
      if (error.code !== "ECONNRESET")
        log.info({ code: error.code, address: socket.remoteAddress }, "no TLS handshake");
      bare.destroy();
      return true;
    },
    closeHandshakes() {
      for (const socket of handshakes.values()) socket.destroy();
    },
  };
}

function contextOf(certificate: Certificate): SecureContextOptions {
  return { ...certificate, minVersion: "TLSv1.2" };
}

/** The two ends of a connection: the same for it and for the TLS that runs over it. */
function endsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
