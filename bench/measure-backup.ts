import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, newFolder } from "./children.ts";
import { randomFile, upload } from "./file-transfer.ts";
import { fillCheckins } from "./fill.ts";
import { commentOf, type Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import { numberMark, type RequestShape } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, type Row } from "./report.ts";
import { ownProfileRequest } from "./scenarios.ts";
import { plainEnvironment } from "./server-process.ts";
import { median } from "./statistics.ts";

const checkins = 200_000;
const files = 30;
const fileBytes = 10_000_000;
const ratePerSecond = 200;
const connections = 32;
const factorGoal = 2;

const rollcall = fileURLToPath(import.meta.resolve("../server/bin/rollcall.mjs"));

/** The effect of `rollcall backup` on the p99 of requests: it copies 200,000 check-ins and 300 MB of files. */
export async function measureBackup(
  fixture: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const { deployment, server, credentials, reader, writer } = fixture;
  const { port } = server;
  await fillCheckins(deployment, checkins, (number) => ({
    application_id: credentials.appid,
    user_id: reader.id,
    comment: commentOf(String(number)),
  }));
  const blobs = { port, path: "/blobs", token: reader.token };
  for (let number = 0; number < files; number += 1) await upload(blobs, randomFile(fileBytes), fileBytes);

  const folder = newFolder("backup");
  const durations: number[] = [];
  let backupBytes = 0;

  /** Makes one backup after the other until the signal. */
  function backUpRepeatedly(): { stop(): Promise<void> } {
    let isStopped = false;
    const running = (async () => {
      while (!isStopped) {
        const file = path.join(folder, "backup.tar");
        const startedAt = performance.now();
        const plain = { cwd: import.meta.dirname, stdio: "ignore" as const };
        const env = { ...plainEnvironment(), ...deployment.settings };
        const child = adopt(spawn(process.execPath, [rollcall, "backup", file], { ...plain, env }));
        const [code] = await once(child, "exit");
        if (code !== 0) throw new Error(`the backup failed with exit code ${code}`);
        durations.push((performance.now() - startedAt) / 1000);
        backupBytes = statSync(file).size;
        rmSync(file);
      }
    })();
    running.catch(() => {}); // awaited below
    return {
      async stop() {
        isStopped = true;
        await running;
      },
    };
  }

  async function compare(name: string, request: RequestShape, status: number): Promise<Row> {
    let firstNumber = 0;
    const measure = () => {
      firstNumber += 1_000_000;
      const plan = { port, request, status, connections, ratePerSecond, seconds: options.seconds };
      return runLoad({ ...plan, firstNumber, numbersMax: 9_999_999_999 }, "own");
    };
    await measure(); // warms up
    const pairs = [];
    for (let run = 1; run <= options.runs; run += 1) {
      await untilQuiet(options.patienceSeconds);
      const alone = await measure();
      await untilQuiet(options.patienceSeconds);
      const backups = backUpRepeatedly();
      await delay(500); // the program has started
      const during = await measure();
      await backups.stop();
      const factor = during.p99Ms / alone.p99Ms;
      pairs.push({ factor, alone, during });
      report(`${name}: p99 ${alone.p99Ms.toFixed(2)} ms alone, ${during.p99Ms.toFixed(2)} ms; × ${factor.toFixed(2)}`);
    }
    const factor = median(pairs.map((pair) => pair.factor));
    return {
      name,
      measured: `${formatMany(median(pairs.map(({ during }) => during.perSecond)))}/s`,
      p50Ms: median(pairs.map(({ during }) => during.p50Ms)),
      p99Ms: median(pairs.map(({ during }) => during.p99Ms)),
      against: `p99 alone ${median(pairs.map(({ alone }) => alone.p99Ms)).toFixed(2)} ms`,
      factor,
      goal: { text: `p99 ≤ × ${factorGoal}`, isMet: factor <= factorGoal },
      details: { pairs, checkins, files, fileBytes, backupBytes, backupSeconds: median(durations) },
    };
  }

  const body = JSON.stringify({ location: "48.2082,16.3738", comment: commentOf(numberMark) });
  const checkIn: RequestShape = { method: "POST", path: "/checkins", token: writer.token, body };
  const rate = formatMany(ratePerSecond);
  const rows = [
    await compare(`me during a backup, ${rate}/s`, ownProfileRequest(fixture), 200),
    await compare(`check-ins during a backup, ${rate}/s`, checkIn, 201),
  ];
  report(`a backup of ${formatMany(backupBytes)} bytes took ${median(durations).toFixed(1)} s`);
  return rows;
}
