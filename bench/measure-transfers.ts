import { call } from "./api.ts";
import { startFileCeiling } from "./file-ceilings.ts";
import { download, randomFile, upload } from "./file-transfer.ts";
import { formatMany, formatPercent, type Row } from "./report.ts";
import { type Measure, measureInTurns, withCpuTime } from "./turns.ts";

const fileBytes = 100_000_000;
const downloadRatioGoal = 0.7;

/** One client that sends or reads 100 MB at a time, against a bare `node:http` server that only moves the bytes. */
export const measureTransfers: Measure = async ({ server, writer }, options, report) => {
  const { token } = writer;
  const ceiling = await startFileCeiling(fileBytes);
  const blobs = { port: server.port, path: "/blobs", token };
  const blobId = await upload(blobs, randomFile(fileBytes), fileBytes);
  const sent: string[] = [];

  async function compare(name: string, transfer: (port: number) => Promise<void>, ratioGoal?: number): Promise<Row> {
    await transfer(ceiling.port); // warms up
    await transfer(server.port);
    async function measureOwn(): Promise<TransferRate & { readonly cpuMicros: number }> {
      const rate = await withCpuTime(server.cpuSeconds, () => repeat(() => transfer(server.port), options.seconds));
      for (const id of sent.splice(0)) await call(server.port, "DELETE", `/blobs/${id}`, token);
      return rate;
    }
    const { pairs, ratio, median } = await measureInTurns(
      options,
      () => repeat(() => transfer(ceiling.port), options.seconds),
      measureOwn,
      (raw, own) => own.perSecond / raw.perSecond,
      ({ base, own, ratio }) =>
        report(`${name}: ${formatRate(own)}; node:http ${formatRate(base)}; ${formatPercent(ratio)}`),
    );
    return {
      name,
      measured: formatRate({ perSecond: median(({ own }) => own.perSecond) }),
      cpuMicros: median(({ own }) => own.cpuMicros),
      against: `node:http file ${formatRate({ perSecond: median(({ base }) => base.perSecond) })}`,
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
};

interface TransferRate {
  /** The number of files. */
  readonly requests: number;
  readonly perSecond: number;
}

/** Repeats the transfer, one at a time, for at least this long. */
async function repeat(transfer: () => Promise<void>, seconds: number): Promise<TransferRate> {
  const startedAt = performance.now();
  for (let requests = 1; ; requests += 1) {
    await transfer();
    const passed = (performance.now() - startedAt) / 1000;
    if (passed >= seconds) return { requests, perSecond: requests / passed };
  }
}

function formatRate({ perSecond }: Pick<TransferRate, "perSecond">): string {
  return `${formatMany((perSecond * fileBytes) / 1e6)} MB/s`;
}
