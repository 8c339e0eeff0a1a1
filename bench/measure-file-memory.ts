import { setTimeout as delay } from "node:timers/promises";
import { call } from "./api.ts";
import { download, randomFile, slowFile, upload } from "./file-transfer.ts";
import { type Fixture, startFixture } from "./fixture.ts";
import { formatMany, type Row } from "./report.ts";
import type { ServerProcess } from "./server-process.ts";
import type { Measure } from "./turns.ts";

const sampleMs = 20;
const warmUpBytes = 10_000_000;
/** The size of a packet or two, so that the parts of many files arrive interleaved. */
const slowChunkBytes = 16_384;
const slowGrowthGoal = 100_000_000;
const largeGrowthGoal = 50_000_000;

/** The growth of a fresh server's memory with slow uploads, and with large files. */
export const measureFileMemory: Measure = async (fixture, options, report) => {
  const { count, bytes, seconds } = options.slowUploads;
  const { largeFileBytes } = options;
  const slowName = `${count} slow uploads of ${formatSize(bytes)}`;
  const rows: Row[] = [];

  async function record(name: string, server: ServerProcess, growthGoal: number, work: () => Promise<void>) {
    const startedAt = performance.now();
    const growth = await watchGrowth(server, work);
    const took = (performance.now() - startedAt) / 1000;
    report(`${name}: ${formatGrowth(growth.bytes)} from ${formatSize(growth.before)}, ${took.toFixed(1)} s`);
    rows.push({
      name,
      measured: formatGrowth(growth.bytes),
      against: `${formatSize(growth.before)} before; took ${took.toFixed(1)} s`,
      goal: { text: `< ${formatGrowth(growthGoal)}`, isMet: growth.bytes < growthGoal },
      details: { ...growth, took },
    });
  }

  await withFreshServer(fixture, async ({ server, token, blobs }) => {
    await record(slowName, server, slowGrowthGoal, async () => {
      const all = Array.from({ length: count }, () => upload(blobs, slowFile(bytes, slowChunkBytes, seconds), bytes));
      const ids = await Promise.all(all);
      for (const id of ids) await call(server.port, "DELETE", `/blobs/${id}`, token);
    });
  });
  await withFreshServer(fixture, async ({ server, token, blobs }) => {
    let id = "";
    await record(`upload of ${formatSize(largeFileBytes)}`, server, largeGrowthGoal, async () => {
      id = await upload(blobs, randomFile(largeFileBytes), largeFileBytes);
    });
    await record(`download of ${formatSize(largeFileBytes)}`, server, largeGrowthGoal, () =>
      download(server.port, `/blobs/${id}/file`, token),
    );
  });
  return rows;
};

/** Runs the work on a server that has transferred one file before, so that its code is loaded. */
async function withFreshServer(
  { engine }: Fixture,
  work: (client: {
    readonly server: ServerProcess;
    readonly token: string;
    readonly blobs: Parameters<typeof upload>[0];
  }) => Promise<void>,
): Promise<void> {
  const { server, writer } = await startFixture(engine, async () => {});
  const { token } = writer;
  const blobs = { port: server.port, path: "/blobs", token };
  const id = await upload(blobs, randomFile(warmUpBytes), warmUpBytes);
  await download(server.port, `/blobs/${id}/file`, token);
  await call(server.port, "DELETE", `/blobs/${id}`, token);
  await work({ server, token, blobs });
  await server.stop();
}

/** The growth from the resident set before the work to the largest during it. */
async function watchGrowth(server: ServerProcess, work: () => Promise<void>) {
  const before = server.residentBytes();
  let largest = before;
  const over = new AbortController();
  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      largest = Math.max(largest, server.residentBytes());
      await delay(sampleMs);
    }
  }
  const watching = watch();
  try {
    await work();
  } finally {
    over.abort();
    await watching;
  }
  return { before, largest, bytes: largest - before };
}

function formatSize(bytes: number): string {
  return bytes >= 1e9 ? `${bytes / 1e9} GB` : `${formatMany(bytes / 1e6)} MB`;
}

function formatGrowth(bytes: number): string {
  return `+${formatSize(bytes)}`;
}
