import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { adopt, newFolder } from "../testkit/children.ts";
import { plainEnvironment } from "../testkit/processes.ts";
import { rollcall } from "../testkit/server.ts";
import { randomFile, upload } from "./file-transfer.ts";
import { fillCheckins } from "./fill.ts";
import { commentOf } from "./fixture.ts";
import { runFreshLoad } from "./load.ts";
import { numberMark, type RequestShape } from "./load-plan.ts";
import { type Background, compareBeside } from "./measure-beside.ts";
import { formatMany } from "./report.ts";
import { ownProfileRequest } from "./scenarios.ts";
import { type Measure, median } from "./turns.ts";

const checkins = 200_000;
const files = 30;
const fileBytes = 10_000_000;
const ratePerSecond = 200;
const connections = 32;

/** The effect of `rollcall backup` on the p99 of requests: it copies 200,000 check-ins and 300 MB of files. */
export const measureBackup: Measure = async (fixture, options, report) => {
  const { deployment, server, credentials, reader, writer } = fixture;
  const { port } = server;
  await fillCheckins(deployment, checkins, (number) => ({
    application_id: credentials.appid,
    user_id: reader.id,
    comment: commentOf(String(number)),
  }));
  const blobs = { port, path: "/blobs", token: reader.token };
  for (let number = 0; number < files; number += 1) await upload(blobs, randomFile(fileBytes), fileBytes);

  const file = path.join(newFolder("backup"), "backup.tar");
  const durations: number[] = [];
  let backupBytes = 0;

  /** Makes one backup after the other until it is stopped. */
  async function beginBackups(): Promise<Background> {
    let isStopped = false;
    const running = (async () => {
      while (!isStopped) {
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
    running.catch(() => {}); // awaited by stop
    await delay(500); // the program has started
    return {
      async stop() {
        isStopped = true;
        await running;
        return "during backups";
      },
    };
  }

  function compare(what: string, request: RequestShape, status: number) {
    const plan = { port, request, status, connections, ratePerSecond, seconds: options.seconds };
    const measure = () => runFreshLoad(plan, "own");
    const name = `${what} during a backup, ${formatMany(ratePerSecond)}/s`;
    const details = () => ({ checkins, files, fileBytes, backupBytes, backupSeconds: median(durations) });
    return compareBeside({ name, factorGoal: 2, details, begin: beginBackups, measure }, options, report);
  }

  const body = JSON.stringify({ location: "48.2082,16.3738", comment: commentOf(numberMark) });
  const checkIn: RequestShape = { method: "POST", path: "/checkins", token: writer.token, body };
  const rows = [await compare("me", ownProfileRequest(fixture), 200), await compare("check-ins", checkIn, 201)];
  report(`a backup of ${formatMany(backupBytes)} bytes took ${median(durations).toFixed(1)} s`);
  return rows;
};
