import { call } from "./api.ts";
import { startFileCeiling } from "./file-ceilings.ts";
import { download, randomFile, upload } from "./file-transfer.ts";
import type { Fixture } from "./fixture.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, formatPercent, type Row } from "./report.ts";
import { median } from "./statistics.ts";

const fileBytes = 100_000_000;
const downloadRatioGoal = 0.7;

/** One client that sends or reads 100 MB at a time, against a bare `node:http` server that only moves the bytes. */
export async function measureTransfers(
  fixture: Fixture,
  options: Options,
  report: (line: string) => void,
): Promise<Row[]> {
  const { server, writer } = fixture;
  const { token } = writer;
  const ceiling = await startFileCeiling(fileBytes);
  const blobs = { port: server.port, path: "/blobs", token };
  const blobId = await upload(blobs, randomFile(fileBytes), fileBytes);
  const sent: string[] = [];

  async function compare(name: string, transfer: (port: number) => Promise<void>, ratioGoal?: number): Promise<Row> {
    await transfer(ceiling.port); // warms up
    await transfer(server.port);
    const pairs = [];
    for (let run = 1; run <= options.runs; run += 1) {
      await untilQuiet(options.patienceSeconds);
      const raw = await repeat(() => transfer(ceiling.port), options.seconds);
      await untilQuiet(options.patienceSeconds);
      const cpuBefore = server.cpuSeconds();
      const own = await repeat(() => transfer(server.port), options.seconds);
      const cpuMicros = ((server.cpuSeconds() - cpuBefore) / own.count) * 1e6;
      for (const id of sent.splice(0)) await call(server.port, "DELETE", `/blobs/${id}`, token);
      const ratio = own.perSecond / raw.perSecond;
      pairs.push({ ratio, ceiling: raw, own, cpuMicros });
      report(`${name}: ${formatRate(own)}; node:http ${formatRate(raw)}; ${formatPercent(ratio)}`);
    }
    const ratio = median(pairs.map((pair) => pair.ratio));
    return {
      name,
      measured: formatRate({ perSecond: median(pairs.map(({ own }) => own.perSecond)) }),
      cpuMicros: median(pairs.map((pair) => pair.cpuMicros)),
      against: `node:http file ${formatRate({ perSecond: median(pairs.map((pair) => pair.ceiling.perSecond)) })}`,
      ratio,
      ...(ratioGoal !== undefined && {
        goal: { text: `≥ ${formatPercent(ratioGoal)}`, isMet: ratio >= ratioGoal },
      }),
      details: { fileBytes, pairs },
    };
  }

  const rows = [
    await compare("POST /blobs, 100 MB", async (port) => {
      const id = await upload({ ...blobs, port }, randomFile(fileBytes), fileBytes);
      if (port === server.port) sent.push(id);
    }),
    await compare(
      "GET /blobs/{id}/file, 100 MB",
      (port) => download(port, `/blobs/${blobId}/file`, token),
      downloadRatioGoal,
    ),
  ];
  await call(server.port, "DELETE", `/blobs/${blobId}`, token);
  await ceiling.end();
  return rows;
}

interface TransferRate {
  readonly count: number;
  /** The number of files. */
  readonly perSecond: number;
}

/** Repeats the transfer, one at a time, for at least this long. */
async function repeat(transfer: () => Promise<void>, seconds: number): Promise<TransferRate> {
  const startedAt = performance.now();
  for (let count = 1; ; count += 1) {
    await transfer();
    const passed = (performance.now() - startedAt) / 1000;
    if (passed >= seconds) return { count, perSecond: count / passed };
  }
}

function formatRate({ perSecond }: Pick<TransferRate, "perSecond">): string {
  return `${formatMany((perSecond * fileBytes) / 1e6)} MB/s`;
}
