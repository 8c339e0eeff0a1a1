import { spawn, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { userInfo } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { adopt, newFolder } from "../../testkit/children.ts";
import { findFreePort } from "../../testkit/free-port.ts";
import { plainEnvironment } from "../../testkit/processes.ts";

export type ProcessName = "a" | "b";
export type CertificateName = "a" | "b";

/** HAProxy with `deploy/haproxy.cfg`, in front of two processes. */
export interface Haproxy {
  readonly port: number;
  /** Sends no new request to the process, and resolves when it has answered all requests that it received. */
  drain(name: ProcessName): Promise<void>;
  /** Sends requests to the process again. */
  undrain(name: ProcessName): Promise<void>;
  /** Resolves when the health check of the process has succeeded. */
  untilUp(name: ProcessName): Promise<void>;
  /** Resolves when HAProxy has detected that the process is down. */
  untilDown(name: ProcessName): Promise<void>;
  /** Reloads HAProxy with this certificate, and resolves when new connections get it. */
  changeCertificate(name: CertificateName): Promise<void>;
}

const configuration = path.join(import.meta.dirname, "../../deploy/haproxy.cfg");
const certificates = path.join(import.meta.dirname, "../../server/test/certificates");
const patienceMs = 30_000;
const pollMs = 50;

/** The command that starts HAProxy. Debian installs it outside of the search path of many users. */
export function findHaproxy(): string | undefined {
  return ["haproxy", "/usr/sbin/haproxy"].find((program) => spawnSync(program, ["-v"]).status === 0);
}

/** A file with both certificates of the drill, for clients that check them. */
export function createAuthorities(): string {
  const file = path.join(newFolder("authorities"), "both.pem");
  writeFileSync(file, `${readCertificate("a")}\n${readCertificate("b")}`);
  return file;
}

/** @param ports of the processes, which need not listen yet */
export async function startHaproxy(
  program: string,
  port: number,
  ports: Readonly<Record<ProcessName, number>>,
): Promise<Haproxy> {
  const folder = newFolder("proxy");
  const certificate = path.join(folder, "certificate.pem");
  const install = (name: CertificateName) => writeFileSync(certificate, readCertificate(name) + readKey(name));
  install("a");
  const env = {
    ...plainEnvironment(),
    RUNTIME: folder,
    RUN_AS: userInfo().username,
    BIND: `127.0.0.1:${port}`,
    CERTIFICATE: certificate,
    SERVER_A: `127.0.0.1:${ports.a}`,
    SERVER_B: `127.0.0.1:${ports.b}`,
  };
  const child = adopt(spawn(program, ["-W", "-f", configuration], { env, stdio: ["ignore", "pipe", "pipe"] }));
  let log = "";
  const keep = (output: string) => {
    log = (log + output).slice(-10_000);
  };
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  const exit = once(child, "exit").then(([code]): never => {
    throw new Error(`HAProxy exited with ${code}: ${log}`);
  });
  exit.catch(() => {}); // the caller of until gets the error
  const until = (what: string, isTrue: () => Promise<boolean>) => Promise.race([poll(what, isTrue), exit]);

  /** The rows of a process, of each backend one. */
  async function readStates(name: ProcessName): Promise<readonly Record<string, string>[]> {
    const [head = "", ...lines] = (await command(folder, "show stat")).replace(/^# /, "").split("\n");
    const columns = head.split(",");
    const rows = lines.map((line) => Object.fromEntries(line.split(",").map((cell, index) => [columns[index], cell])));
    return rows.filter((row) => row["svname"] === name);
  }
  const everyState = async (name: ProcessName, isWanted: (row: Record<string, string>) => boolean) => {
    const rows = await readStates(name);
    return rows.length > 0 && rows.every(isWanted);
  };

  await until("HAProxy listens", async () => (await readFingerprint(port)) === fingerprintOf("a"));
  return {
    port,
    async drain(name) {
      await command(folder, `set server reads/${name} state drain`);
      await until(`process ${name} is idle`, () =>
        everyState(name, (row) => row["status"]?.startsWith("DRAIN") === true && row["scur"] === "0"),
      );
    },
    async undrain(name) {
      await command(folder, `set server reads/${name} state ready`);
    },
    untilUp: (name) => until(`process ${name} is up`, () => everyState(name, (row) => row["status"] === "UP")),
    untilDown: (name) =>
      until(`process ${name} is down`, () => everyState(name, (row) => row["status"]?.startsWith("DOWN") === true)),
    async changeCertificate(name) {
      install(name);
      child.kill("SIGUSR2");
      await until(
        "new connections get the new certificate",
        async () => (await readFingerprint(port)) === fingerprintOf(name),
      );
    },
  };
}

function readCertificate(name: CertificateName): string {
  return readFileSync(path.join(certificates, `test-only-${name}.cert.pem`), "utf8");
}

function readKey(name: CertificateName): string {
  return readFileSync(path.join(certificates, `test-only-${name}.key.pem`), "utf8");
}

function fingerprintOf(name: CertificateName): string {
  return new X509Certificate(readCertificate(name)).fingerprint256;
}

/** The fingerprint of the certificate that a new connection gets; undefined while it is refused. */
function readFingerprint(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on("error", () => resolve(undefined));
  });
}

/** Runs a command of HAProxy's runtime API. */
async function command(folder: string, line: string): Promise<string> {
  const socket = connect(path.join(folder, "admin.sock"));
  socket.end(`${line}\n`);
  return (await text(socket)).trim();
}

/** @throws when it does not become true */
async function poll(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${patienceMs / 1000} s in vain: ${what}`);
    await sleep(pollMs);
  }
}

/** Ports for a proxy and its processes, known before any of them starts. */
export async function choosePorts(): Promise<{
  readonly proxy: number;
  readonly processes: Record<ProcessName, number>;
}> {
  const [proxy, a, b] = [await findFreePort(), await findFreePort(), await findFreePort()];
  return { proxy, processes: { a, b } };
}
