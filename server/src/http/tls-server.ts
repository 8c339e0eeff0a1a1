import type { Server, ServerOptions } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { Logger } from "pino";
import { nodeHttps } from "../lib/builtins.ts";
import { answerBrokenRequest } from "./broken-request.ts";
import { type Certificate, type CertificateFiles, expiryOf, watchCertificate } from "./certificate.ts";

/** An HTTPS server that can replace its certificate while it runs. */
export interface TlsServer {
  readonly server: Server;
  /** Checks for a new certificate. */
  reloadCertificate(): Promise<void>;
  /** When the certificate expires, in `Date.now()` milliseconds. */
  certificateEnds(): number;
  /** Handles a connection that failed during the TLS handshake. @returns false for any other connection */
  refuseHandshake(error: { readonly code?: string }, socket: Socket): boolean;
  /** Closes the connections in their TLS handshake, which have no requests yet. */
  closeHandshakes(): void;
}

/** @param certificate the current contents of `files` */
export function createTlsServer(
  files: CertificateFiles,
  certificate: Certificate,
  options: ServerOptions,
  log: Logger,
): TlsServer {
  // As with http: a client that half-closes its connection receives the responses to its requests.
  const server = nodeHttps().createServer({ ...options, ...contextOf(certificate), allowHalfOpen: true });
  let expiresAt = expiryOf(certificate);
  const checkCertificate = watchCertificate(files, certificate, {
    replace(next) {
      server.setSecureContext(contextOf(next)); // applies to new connections
      expiresAt = expiryOf(next);
    },
    log,
  });

  /** The sockets in their TLS handshake: closing the server does not close them, and Node.js cannot answer them. */
  const handshakes = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const key = connectionKey(socket);
    handshakes.set(key, socket);
    socket.once("close", () => handshakes.delete(key));
  });
  server.on("secureConnection", (socket) => handshakes.delete(connectionKey(socket)));

  return {
    server,
    reloadCertificate: checkCertificate,
    certificateEnds: () => expiresAt,
    refuseHandshake(error, socket) {
      const bare = handshakes.get(connectionKey(socket));
      if (bare === undefined) return false;
      if (error.code === "ERR_SSL_HTTP_REQUEST") {
        answerBrokenRequest(error, bare, log);
        return true;
      }
      if (error.code !== "ECONNRESET")
        log.info({ code: error.code, address: socket.remoteAddress }, "TLS handshake failed");
      bare.destroy();
      return true;
    },
    closeHandshakes() {
      for (const socket of handshakes.values()) socket.destroy();
    },
  };
}

/** All suites of TLS 1.3, and the suites of TLS 1.2 with authenticated encryption and forward secrecy. */
const cipherSuites = [
  ...["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"],
  ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ...["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ...["ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
];

function contextOf(certificate: Certificate): SecureContextOptions {
  return { ...certificate, minVersion: "TLSv1.2", ciphers: cipherSuites.join(":") };
}

/** Identifies a connection: the same for its socket and the TLS socket on top of it. */
function connectionKey({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
