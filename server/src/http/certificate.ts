import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import { ConfigError } from "../config/config.ts";
import { fieldsOf } from "../lib/fields.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate chain and the key of its first certificate, as PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Returns when the first certificate of a chain expires, in `Date.now()` milliseconds. */
export function expiryOf({ cert }: Certificate): number {
  return new X509Certificate(cert).validToDate.getTime();
}

/** @throws ConfigError that names the setting, and never contains the contents of a file */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const certificate = await readFiles(files);
  checkCertificate(certificate);
  return certificate;
}

/**
 * Returns a function that checks the files, and calls `replace` if they hold a new, valid pair of certificate and key.
 * Compares contents instead of times, and is polled, because certbot and Kubernetes swap symbolic links. While only one
 * of the files has been replaced, the pair does not match, and the last valid pair stays in use.
 */
export function watchCertificate(
  files: CertificateFiles,
  first: Certificate,
  { replace, log }: { replace(certificate: Certificate): void; log: Logger },
): () => Promise<void> {
  let tried = first;
  let unreadable: string | undefined;
  let checked = Promise.resolve();

  async function check(): Promise<void> {
    let found: Certificate;
    try {
      found = await readFiles(files);
    } catch (error) {
      const problem = reasonOf(error);
      if (problem !== unreadable) log.error({ problem }, keptMessage);
      unreadable = problem;
      return;
    }
    unreadable = undefined;
    if (tried.cert.equals(found.cert) && tried.key.equals(found.key)) return; // the same invalid pair is reported once
    tried = found;
    try {
      checkCertificate(found);
      replace(found);
      log.info({ expires: new X509Certificate(found.cert).validTo }, "new TLS certificate");
    } catch (error) {
      log.error({ problem: reasonOf(error) }, keptMessage);
    }
  }

  // One after the other, so that an earlier pair cannot replace a later one.
  return () => {
    checked = checked.then(check);
    return checked;
  };
}

const keptMessage = "the new TLS certificate cannot be used, the old one stays";

async function readFiles({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const problems: string[] = [];
  const read = (setting: string, file: string) =>
    readFile(file).catch((error: NodeJS.ErrnoException) => {
      problems.push(`${setting} must name a file that can be read (${error.code})`);
    });
  const cert = await read("TLS_CERT_FILE", certFile);
  const key = await read("TLS_KEY_FILE", keyFile);
  if (cert === undefined || key === undefined) throw new ConfigError(problems);
  return { cert, key };
}

/** @throws ConfigError */
function checkCertificate({ cert, key }: Certificate): void {
  const certRule = "TLS_CERT_FILE must hold a certificate, and those that lead to a known authority, as PEM";
  const parsed = tryTo(() => new X509Certificate(cert), certRule);
  const privateKey = tryTo(
    () => createPrivateKey(key),
    "TLS_KEY_FILE must hold a private key without a password, as PEM",
  );
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new ConfigError(["TLS_KEY_FILE must hold the key of the certificate in TLS_CERT_FILE"]);
  }
  tryTo(() => process.getBuiltinModule("node:tls").createSecureContext({ cert, key }), certRule); // also checks the rest of the chain
}

function tryTo<Result>(work: () => Result, rule: string): Result {
  try {
    return work();
  } catch (error) {
    const { code } = fieldsOf(error); // an OpenSSL code, which never contains file contents
    throw new ConfigError([`${rule} (${code})`]);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof ConfigError ? error.problems.join("; ") : String(error);
}
