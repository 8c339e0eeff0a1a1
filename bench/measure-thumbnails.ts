import sharp from "sharp";
import { download, upload } from "./file-transfer.ts";
import type { Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import type { LoadPlan } from "./load-plan.ts";
import { compareBeside } from "./measure-beside.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, type Row } from "./report.ts";
import { ownProfileRequest } from "./scenarios.ts";
import { median } from "./statistics.ts";

/** As from the camera of a phone. */
const photoSize = { width: 4_000, height: 3_000 };
/** A size that is stored after its first use. */
const keptSize = 400;
/** An odd size, which is computed for every request. */
const unkeptSize = 403;
/** Several at a time, and far fewer than the queue holds. */
const connections = 8;
const ratePerSecond = 1_000;
const rateConnections = 32;

/** Small versions of a photo: computed, read, and the effect of computing them on other requests. */
export async function measureThumbnails(
  fixture: Fixture,
  options: Options,
  report: (line: string) => void,
): Promise<Row[]> {
  const { server, reader } = fixture;
  const { port } = server;
  const photo = await takePhoto();
  const id = await upload({ port, path: "/pictures", token: reader.token }, [photo], photo.length);
  const plan = { port, status: 200, seconds: options.seconds, firstNumber: 0, numbersMax: 1 };

  function thumbnails(size: number, among: number): LoadPlan {
    const request = { method: "GET", path: `/pictures/${id}/file?size=${size}`, token: reader.token } as const;
    return { ...plan, request, connections: among };
  }

  async function measure(name: string, load: LoadPlan): Promise<Row> {
    await download(port, load.request.path, reader.token); // stores the small version before the load
    await runLoad({ ...load, seconds: options.warmUpSeconds }, "own");
    const loads = [];
    for (let run = 1; run <= options.runs; run += 1) {
      await untilQuiet(options.patienceSeconds);
      const cpuBefore = server.cpuSeconds();
      const result = await runLoad(load, "own");
      const cpuMicros = ((server.cpuSeconds() - cpuBefore) / result.requests) * 1e6;
      loads.push({ ...result, cpuMicros });
      report(`${name}: ${result.perSecond.toFixed(1)}/s, p99 ${result.p99Ms.toFixed(1)} ms`);
    }
    const perSecond = median(loads.map((each) => each.perSecond));
    return {
      name,
      measured: `${perSecond < 100 ? perSecond.toFixed(1) : formatMany(perSecond)}/s`,
      p50Ms: median(loads.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(loads.map(({ p99Ms }) => p99Ms)),
      cpuMicros: median(loads.map(({ cpuMicros }) => cpuMicros)),
      details: { photoSize, photoBytes: photo.length, loads },
    };
  }

  return [
    await measure(`thumbnail of ${photoSize.width} × ${photoSize.height}, made`, thumbnails(unkeptSize, connections)),
    await measure("thumbnail, kept", thumbnails(keptSize, options.connections)),
    await compareBeside(
      {
        name: `me during thumbnails, ${formatMany(ratePerSecond)}/s`,
        beside: "thumbnails",
        background: thumbnails(unkeptSize, connections),
        factorGoal: 2,
        measure: () =>
          runLoad({ ...plan, request: ownProfileRequest(fixture), connections: rateConnections, ratePerSecond }, "own"),
      },
      options,
      report,
    ),
  ];
}

/** A picture with the details and the size of a photo. */
async function takePhoto(): Promise<Buffer> {
  const { width, height } = photoSize;
  const noise = { type: "gaussian", mean: 128, sigma: 60 } as const;
  const coarse = sharp({ create: { width: width / 4, height: height / 4, channels: 3, background: "#888", noise } });
  return sharp(await coarse.png().toBuffer())
    .resize(width, height)
    .jpeg({ quality: 85 })
    .toBuffer();
}
