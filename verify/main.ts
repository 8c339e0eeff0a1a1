/**
 * Checks a running deployment against the specification, over HTTP alone:
 * `npm run verify -- --url URL --appid A --appkey K`.
 */
import { parseArgs } from "node:util";
import { groups } from "./groups.ts";
import { count, createReport } from "./report.ts";
import { type VerifyOptions, verify } from "./run.ts";

const usage = `Usage: npm run verify -- --url URL --appid A --appkey K [options]

Checks a running deployment against the specification. Creates devices, users, check-ins and identities
in the application, so use one that is made for tests.

  --url URL            address of the deployment, such as http://127.0.0.1:8080
  --appid A            application id
  --appkey K           application key
  --other-appid A      a second application of the same deployment: checks that the two are isolated
  --other-appkey K     from each other
  --operator-token T   token of an operator with the role editor or owner: checks webhooks, which are deleted again
  --receiver-url URL   where the deployment reaches this machine: checks deliveries of webhooks. The suite listens at
  --receiver-port N    this port; without it, at that of the URL
  --only GROUP         runs only this group; may be repeated
  --json               prints the result as one JSON document
  --help               prints this text

Groups: ${groups.map(({ name }) => name).join(", ")}

The exit code is 0 when every check passes, 1 when a check fails, 2 when the command line is invalid.
`;

/** The command line is invalid. */
class UsageError extends Error {}

try {
  const options = readOptions();
  if (options === undefined) process.stdout.write(usage);
  else if (options.isJson) await runForMachine(options);
  else await runForPerson(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}

async function runForPerson(options: VerifyOptions): Promise<void> {
  const report = createReport();
  const results = await verify({ ...options, onResult: report.add });
  report.finish(results);
  if (count(results, "failed") > 0) process.exitCode = 1;
}

async function runForMachine(options: VerifyOptions): Promise<void> {
  const checks = await verify(options);
  const [passed, failed, skipped] = (["passed", "failed", "skipped"] as const).map((outcome) => count(checks, outcome));
  process.stdout.write(`${JSON.stringify({ url: options.url.href, passed, failed, skipped, checks }, null, 2)}\n`);
  if (failed !== 0) process.exitCode = 1;
}

/** Returns undefined for --help. */
function readOptions(): (VerifyOptions & { isJson: boolean }) | undefined {
  const values = parse();
  if (values.help) return undefined;
  const { url, appid, appkey, only = [], json: isJson = false } = values;
  if (url === undefined || appid === undefined || appkey === undefined) {
    throw new UsageError("--url, --appid and --appkey are required.");
  }
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`--url must be an http:// or https:// address, not ${url}`);
  }
  const unknown = only.filter((name) => !groups.some((group) => group.name === name));
  if (unknown.length > 0) throw new UsageError(`--only: unknown group ${unknown.join(", ")}. --help lists the groups.`);
  const receiver = readReceiver(values["receiver-url"], values["receiver-port"]);
  const { "other-appid": otherAppid, "other-appkey": otherAppkey } = values;
  if ((otherAppid === undefined) !== (otherAppkey === undefined)) {
    throw new UsageError("--other-appid and --other-appkey must be given together.");
  }
  const hasOther = otherAppid !== undefined && otherAppkey !== undefined;
  const otherApplication = hasOther ? { appid: otherAppid, appkey: otherAppkey } : undefined;
  const operatorToken = values["operator-token"];
  if (receiver !== undefined && operatorToken === undefined) {
    throw new UsageError("--receiver-url needs --operator-token, because operators register webhooks.");
  }
  const application = { appid, appkey };
  return { url: new URL(url), application, otherApplication, operatorToken, receiver, only, isJson };
}

function readReceiver(url: string | undefined, port: string | undefined): VerifyOptions["receiver"] {
  if (url === undefined) {
    if (port !== undefined) throw new UsageError("--receiver-port needs --receiver-url.");
    return undefined;
  }
  if (!URL.canParse(url)) throw new UsageError(`--receiver-url must be an http:// or https:// address, not ${url}`);
  const parsed = new URL(url);
  const listening = Number(port ?? (parsed.port || (parsed.protocol === "https:" ? "443" : "80")));
  if (Number.isInteger(listening) && listening > 0 && listening < 65_536) return { url: parsed, port: listening };
  throw new UsageError(`--receiver-port must be a port, not ${port}`);
}

function parse() {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      options: {
        url: text,
        appid: text,
        appkey: text,
        "other-appid": text,
        "other-appkey": text,
        "operator-token": text,
        "receiver-url": text,
        "receiver-port": text,
        only: { type: "string", multiple: true },
        json: flag,
        help: flag,
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
