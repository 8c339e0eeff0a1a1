/**
 * A device that reports its state and installs the firmware that the application names.
 *
 * The device registers automatically, also again after its token has been revoked. Files need a user, so it signs in as
 * the user of its fleet, and requests the password whenever the session has ended.
 */
import { createHash } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { loadavg, uptime } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createRollcall, RollcallError } from "@rollcall/sdk";
import { fileStore, nodeFacts } from "@rollcall/sdk/node";

/** The metadata `firmware` of the application: the version that every device should run. */
interface Firmware {
  readonly version: string;
  readonly blobId: string;
}

const { ROLLCALL_URL, ROLLCALL_APPID, ROLLCALL_APPKEY, FLEET_USER, FLEET_PASSWORD } = readEnvironment();
const folder = process.env["STATE_FOLDER"] ?? "state";
const isOnce = process.argv.includes("--once");
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

const credentials = { userName: FLEET_USER, password: FLEET_PASSWORD };
await using rollcall = createRollcall({
  url: ROLLCALL_URL,
  appid: ROLLCALL_APPID,
  appkey: ROLLCALL_APPKEY,
  device: { ...nodeFacts(), appVersion: "1.0.0", tag: "agent" },
  store: fileStore(folder),
  reauthenticate: () => credentials,
});

await rollcall.ready();
if (!rollcall.session) await rollcall.signIn(credentials);

while (!stop.signal.aborted) {
  try {
    await installFirmware();
    await report();
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    console.error(error.message); // the next round tries again
  }
  if (isOnce) break;
  await wait(60_000, undefined, { signal: stop.signal }).catch(() => {});
}

/** Writes the device's state to metadata that operators and its own tokens can read. */
async function report(): Promise<void> {
  const [load] = loadavg();
  await rollcall.metadata
    .ofDevice()
    .put("state", { uptimeSeconds: Math.round(uptime()), load, firmware: await installed() });
  console.log("reported");
}

/** Installs the firmware that the application names, if it differs from the installed one. */
async function installFirmware(): Promise<void> {
  const wanted = await rollcall.metadata.ofApp().get<Firmware>("firmware");
  if (wanted === undefined || wanted.version === (await installed())) return;
  const download = await rollcall.blobs.download(wanted.blobId, { verify: true, signal: stop.signal });
  const bytes = Buffer.from(await (await download.blob()).arrayBuffer());
  await replaceFile(path.join(folder, "firmware.bin"), bytes);
  await replaceFile(path.join(folder, "firmware.version"), wanted.version);
  const hash = createHash("sha256").update(bytes).digest("hex");
  console.log(`installed firmware ${wanted.version}, ${bytes.length} bytes, SHA-256 ${hash}`);
}

async function installed(): Promise<string | undefined> {
  try {
    return await readFile(path.join(folder, "firmware.version"), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Leaves either the old file or the whole new one, even if the power fails. */
async function replaceFile(name: string, content: string | Uint8Array): Promise<void> {
  const file = await open(`${name}.new`, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${name}.new`, name);
}

function readEnvironment() {
  const read = (name: string) => {
    const value = process.env[name];
    if (value === undefined || value === "") throw new Error(`Set ${name} in the environment: see README.md`);
    return value;
  };
  return {
    ROLLCALL_URL: read("ROLLCALL_URL"),
    ROLLCALL_APPID: read("ROLLCALL_APPID"),
    ROLLCALL_APPKEY: read("ROLLCALL_APPKEY"),
    FLEET_USER: read("FLEET_USER"),
    FLEET_PASSWORD: read("FLEET_PASSWORD"),
  };
}
