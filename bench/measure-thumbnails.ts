import sharp from "sharp";
import { download, upload } from "./file-transfer.ts";
import { runLoad } from "./load.ts";
import type { LoadPlan } from "./load-plan.ts";
import { beginLoad, compareBeside } from "./measure-beside.ts";
import { formatMany, type Row } from "./report.ts";
import { ownProfileRequest } from "./scenarios.ts";
import { columnsOf, type Measure, median, repeat, withCpuTime } from "./turns.ts";

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
export const measureThumbnails: Measure = async (fixture, options, report) => {
  const { server, reader } = fixture;
  const { port } = server;
  const photo = await takePhoto();
  const id = await upload({ port, path: "/pictures", token: reader.token }, [photo], photo.length);
  const plan = { port, status: 200, seconds: options.seconds };

  function thumbnails(size: number, among: number): LoadPlan {
    const request = { method: "GET", path: `/pictures/${id}/file?size=${size}`, token: reader.token } as const;
    return { ...plan, request, connections: among };
  }

  async function measure(name: string, load: LoadPlan): Promise<Row> {
    await download(port, load.request.path, reader.token); // stores the small version before the load
    await runLoad({ ...load, seconds: options.warmUpSeconds }, "own");
    const loads = await repeat(
      options,
      () => withCpuTime(server.cpuSeconds, () => runLoad(load, "own")),
      ({ perSecond, p99Ms }) => report(`${name}: ${perSecond.toFixed(1)}/s, p99 ${p99Ms.toFixed(1)} ms`),
    );
    const perSecond = median(loads.map((each) => each.perSecond));
    return {
      name,
      measured: `${perSecond < 100 ? perSecond.toFixed(1) : formatMany(perSecond)}/s`,
      ...columnsOf(loads),
      details: { photoSize, photoBytes: photo.length, loads },
    };
  }

  const me = { ...plan, request: ownProfileRequest(fixture), connections: rateConnections, ratePerSecond };
  const neighbours = {
    name: `me during thumbnails, ${formatMany(ratePerSecond)}/s`,
    factorGoal: 2,
    begin: () => beginLoad(thumbnails(unkeptSize, connections), "thumbnails"),
    measure: () => runLoad(me, "own"),
  };
  return [
    await measure(`thumbnail of ${photoSize.width} × ${photoSize.height}, made`, thumbnails(unkeptSize, connections)),
    await measure("thumbnail, kept", thumbnails(keptSize, options.connections)),
    await compareBeside(neighbours, options, report),
  ];
};

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
