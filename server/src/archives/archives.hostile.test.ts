import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createTestDatabase, type TestDatabase } from "../../test/databases.ts";
import {
  type ArchivePieces,
  withLines as changeLines,
  putTogether,
  splitArchive,
  withValue,
} from "../../test/forged-archives.ts";
import { type FullApplication, fillApplication, readTables } from "../../test/full-application.ts";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { runProgram } from "../../test/running-server.ts";
import { maintain } from "../app/maintenance.ts";
import { loadConfig } from "../config/config.ts";
import { loadSecrets } from "../config/server-secret.ts";
import { migrate } from "../db/migrate.ts";
import { openDatabase } from "../db/open.ts";
import { createClock } from "../lib/clock.ts";
import { backUp } from "./backup.ts";
import { archiveApplication } from "./export-application.ts";
import { ArchiveError, fileName, missingName, rowsName } from "./format.ts";
import { importApplication } from "./import-application.ts";
import { restore } from "./restore.ts";
import { archivedTables } from "./tables.ts";

/** Forged archives: hostile.md 39. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const databases: TestDatabase[] = [];
let source: TestApp;
let target: TestApp;
let full: FullApplication;
let application: ArchivePieces;
let backup: ArchivePieces;
before(async () => {
  [source, target] = [await startTestApp(), await startTestApp()];
  full = await fillApplication(source);
  const services = servicesOf(source);
  application = await splitArchive(archiveApplication(source.application.appid, services));
  backup = await splitArchive(backUp(source.config, services));
});
after(async () => {
  await source.close();
  await target.close();
  for (const { drop } of databases) await drop();
  rmSync(folder, { recursive: true, force: true });
});

function servicesOf({ app, config }: TestApp) {
  const { database, bytes, clock } = app;
  return {
    database,
    bytes,
    clock,
    ...config,
    secrets: loadSecrets(config),
  };
}

/** A forgery and its error message. */
type Attack = readonly [name: string, forge: (pieces: ArchivePieces) => ArchivePieces, message: RegExp];

/** Rewrites a line of devices as text. */
function withText(pieces: ArchivePieces, change: (line: string) => string): ArchivePieces {
  return changeLines(pieces, "devices", ([first = "", ...others]) => [change(first), ...others]);
}

const victim = () => target.application.appid;
const aMegabyte = Buffer.alloc(1_000_000, 0x61);
const afterBrace = (line: string, text: string) => line.replace("{", `{${text},`);
const beforeBrace = (line: string, text: string) => line.replace(/\}$/, `,${text}}`);

/** Forgeries of archives of both kinds. */
const attacks: readonly Attack[] = [
  [
    "a duplicate key in another case, before the original",
    (pieces) => withText(pieces, (line) => afterBrace(line, `"APPLICATION_ID":"${victim()}"`)),
    /^Row 1 of devices has a column "APPLICATION_ID", which the table does not have$/,
  ],
  [
    "a duplicate key in another case, after the original",
    (pieces) => withText(pieces, (line) => beforeBrace(line, `"Application_Id":"${victim()}"`)),
    /has a column "Application_Id"/,
  ],
  [
    "a duplicate key",
    (pieces) => withText(pieces, (line) => afterBrace(line, `"application_id":"${victim()}"`)),
    /^Row 1 of devices has a repeated column or a value in a different form/,
  ],
  [
    "an escaped duplicate key",
    (pieces) => withText(pieces, (line) => afterBrace(line, `"\\u0061pplication_id":"${victim()}"`)),
    /has a repeated column or a value in a different form/,
  ],
  [
    "a column in another case",
    (pieces) => withText(pieces, (line) => line.replace('"platform"', '"PLATFORM"')),
    /has a column "PLATFORM"/,
  ],
  ["an unknown column", (pieces) => withText(pieces, (line) => beforeBrace(line, '"x\\" or 1":1')), /has a column "x/],
  ["__proto__", (pieces) => withText(pieces, (line) => beforeBrace(line, '"__proto__":{"base64":""}')), /"__proto__"/],
  [
    "a missing column",
    (pieces) => withText(pieces, (line) => line.replace(/"platform":"[^"]*",/, "")),
    /^Row 1 of devices lacks the column platform$/,
  ],
  ...[
    ["an object", {}],
    ["an array", ["a"]],
    ["a number", 1],
    ["true", true],
    ["null", null],
    ["bytes", { base64: "YQ==" }],
    ["a lone surrogate", "\ud800"],
    ["NUL", "a\0b"],
  ].map(
    ([what, value]): Attack => [
      `${what} for text`,
      (pieces) => withValue(pieces, "devices", "platform", value),
      /^Row 1 of devices cannot be stored: platform must (not be null|be Unicode text without NUL)$/,
    ],
  ),
  ...["1", 1.5, 2 ** 53, { number: "Infinity" }, { base64: "" }].map(
    (value): Attack => [
      `${JSON.stringify(value)} for a whole number`,
      (pieces) => withValue(pieces, "devices", "created_at", value),
      /^Row 1 of devices cannot be stored: created_at must be a whole number/,
    ],
  ),
  [
    "a number with more digits than a double",
    (pieces) => withText(pieces, (line) => line.replace(/"created_at":\d+/, '"created_at":99999999999999999999999')),
    /created_at must be a whole number/,
  ],
  ...["NaN", "1", ""].map(
    (number): Attack => [
      `${number} in letters for a number`,
      (pieces) => withValue(pieces, "devices", "lat", { number }),
      /^Row 1 of devices (cannot be stored: lat must be a number|has a repeated column or a value in a different form.*)$/,
    ],
  ),
  [
    "text for bytes",
    (pieces) => withValue(pieces, "metric_rollups", "data", "text"),
    /^Row 1 of metric_rollups cannot be stored: data must be bytes in base64$/,
  ],
  [
    "base64 with a suffix",
    (pieces) => withValue(pieces, "metric_rollups", "data", { base64: "YQ==$$$" }),
    /has a repeated column or a value in a different form/,
  ],
  [
    "blanks in a row",
    (pieces) => withText(pieces, (line) => line.replace(":", ": ")),
    /has a repeated column or a value in a different form/,
  ],
  ["a row that is not an object", (pieces) => withText(pieces, () => "[1]"), /^Row 1 of devices is no object of JSON$/],
  [
    "a row that is not JSON",
    (pieces) => withText(pieces, (line) => line.slice(1)),
    /^Row 1 of devices is no object of JSON$/,
  ],
  [
    "nesting",
    (pieces) => withText(pieces, (line) => beforeBrace(line, `"x":${"[".repeat(100_000)}${"]".repeat(100_000)}`)),
    /has a column "x"/,
  ],
  [
    "nesting for text",
    (pieces) =>
      withText(pieces, (line) =>
        line.replace(/"platform":"[^"]*"/, `"platform":${"[".repeat(50_000)}${"]".repeat(50_000)}`),
      ),
    /platform must be/,
  ],
  [
    "invalid UTF-8",
    (pieces) => withEntry(pieces, rowsName("devices", 1), gzipSync(Buffer.from([0x7b, 0xff, 0x7d, 0x0a]))),
    /^A part of devices is not UTF-8$/,
  ],
  [
    "a compression bomb",
    (pieces) => withEntry(pieces, rowsName("devices", 1), Buffer.concat(Array(300).fill(gzipSync(aMegabyte)))),
    /^A part of devices cannot be unpacked$/,
  ],
  [
    "a repeated row",
    (pieces) => changeLines(pieces, "devices", ([first = ""]) => [first, first]),
    /^(Row 2|One of the rows.*) of devices has a key that another row has already$/,
  ],
  [
    "a duplicate primary key among many rows",
    (pieces) =>
      changeLines(pieces, "unfinished_erasures", ([first = ""]) =>
        Array.from({ length: 40 }, (_, index) => ({ ...JSON.parse(first), object_id: `o${index % 39}` })).map((row) =>
          JSON.stringify(row),
        ),
      ),
    /^(Row 40|One of the rows 1 to 32) of unfinished_erasures has a key/,
  ],
  [
    "a row that refers to a missing row",
    (pieces) => withValue(pieces, "identities", "user_id", "usr_nobody"),
    /^Row 1 of identities refers to a row that does not come before it$/,
  ],
  [
    "an unknown table",
    (pieces) => withTable(pieces, "schema_migrations", { name: "9999-x", refuses_older: 1 }),
    /not a table of/,
  ],
  [
    "leases",
    (pieces) => withTable(pieces, "leases", { name: "maintenance", holder: "x", ends_at: 9e15 }),
    /not a table of/,
  ],
  ["a table of the engine", (pieces) => withTable(pieces, "sqlite_schema", { name: "x" }), /not a table of/],
  ["a table named like an object member", (pieces) => withTable(pieces, "__proto__", { name: "x" }), /not a table of/],
  [
    "misnumbered parts",
    (pieces) => renamed(pieces, rowsName("devices", 1), rowsName("devices", 2)),
    /is out of order$/,
  ],
  [
    "a table in two pieces",
    (pieces) => moved(pieces, rowsName("devices", 1), rowsName("devices", 2)),
    /is out of order$/,
  ],
  [
    "rows after files",
    (pieces) => ({
      ...pieces,
      entries: [...pieces.entries, { name: rowsName("application_keys", 1), content: gzipSync("{}\n") }],
    }),
    /is out of order$/,
  ],
  [
    "a file that no row names",
    (pieces) => withFile(pieces, `${source.application.appid}/blb_1/original`),
    /^The archive holds .*blb_1\/original, which belongs to none of its files$/,
  ],
  [
    "a file next to one that a row names",
    (pieces) => withFile(pieces, `${source.application.appid}/${full.blobId}/size-100`),
    /which belongs to none of its files$/,
  ],
  [
    "a file of another application",
    (pieces) => withFile(pieces, `${victim()}/${full.blobId}/original`),
    /which belongs to none of its files$/,
  ],
  [
    "a file that differs from the digest in its row",
    (pieces) => withEntry(pieces, fileName(blobKey()), Buffer.alloc(full.blob.length, "other")),
    /original of the archive differs from what was uploaded: its digest is not that of its row$/,
  ],
  [
    "a file that is longer than in its row",
    (pieces) => withEntry(pieces, fileName(blobKey()), Buffer.alloc(1_000_000)),
    /original has 1000000 bytes in the archive, and 200001 in its row$/,
  ],
  ["null as a missing object", (pieces) => withMissing(pieces, "null"), /^The list of missing objects is invalid$/],
  ["an unknown entry", (pieces) => withFirst(pieces, "evil.sh", "x"), /^The archive holds evil\.sh/],
  [
    "an end with other counts",
    (pieces) => ({ ...pieces, end: { ...pieces.end, rows: { devices: 7 } } }),
    /^The archive does not match the counts at its end$/,
  ],
  [
    "an end without counts",
    (pieces) => ({ ...pieces, end: { rows: null, missing: null } }),
    /^end\.json of the archive is invalid$/,
  ],
  ...["\u001b[2J", "x".repeat(200), 1, null].map(
    (release): Attack => [
      `a release called ${JSON.stringify(release)}`,
      (pieces) => ({ ...pieces, head: { ...pieces.head, release } }),
      /^rollcall\.json of the archive is invalid$/,
    ],
  ),
  ["no migrations", (pieces) => ({ ...pieces, head: { ...pieces.head, migrations: [] } }), /made by a newer release/],
  [
    "an unknown migration before the known ones",
    (pieces) => {
      const names = pieces.head["migrations"];
      return { ...pieces, head: { ...pieces.head, migrations: Array.isArray(names) && ["9999-next", ...names] } };
    },
    /made by a newer release/,
  ],
  [
    "migrations from before the baseline",
    (pieces) => ({ ...pieces, head: { ...pieces.head, migrations: ["0001-foundation"] } }),
    /from before commit 2202da8f/,
  ],
];

const blobKey = () => `${source.application.appid}/${full.blobId}/original`;

function withEntry(pieces: ArchivePieces, name: string, content: Buffer): ArchivePieces {
  assert.ok(pieces.entries.some((entry) => entry.name === name));
  return { ...pieces, entries: pieces.entries.map((entry) => (entry.name === name ? { name, content } : entry)) };
}

function withTable(pieces: ArchivePieces, table: string, row: object): ArchivePieces {
  return changeLines(pieces, table, () => [JSON.stringify(row)]);
}

function withFile(pieces: ArchivePieces, key: string): ArchivePieces {
  return { ...pieces, entries: [...pieces.entries, { name: fileName(key), content: Buffer.from("x") }] };
}

function withFirst(pieces: ArchivePieces, name: string, content: string): ArchivePieces {
  return { ...pieces, entries: [{ name, content: Buffer.from(content) }, ...pieces.entries] };
}

function withMissing(pieces: ArchivePieces, line: string): ArchivePieces {
  return { ...pieces, entries: [...pieces.entries, { name: missingName(1), content: Buffer.from(`${line}\n`) }] };
}

function renamed(pieces: ArchivePieces, from: string, to: string): ArchivePieces {
  return { ...pieces, entries: pieces.entries.map((entry) => (entry.name === from ? { ...entry, name: to } : entry)) };
}

function withHash(pieces: ArchivePieces, costs: string): ArchivePieces {
  return withValue(pieces, "users", "password_hash", `${costs}${"a".repeat(22)}$${"a".repeat(43)}`);
}

/** Moves the second part of a table behind another table. */
function moved(pieces: ArchivePieces, of: string, name: string): ArchivePieces {
  const index = pieces.entries.findIndex((entry) => entry.name === of);
  const content = pieces.entries[index]?.content ?? Buffer.alloc(0);
  return { ...pieces, entries: pieces.entries.toSpliced(index + 2, 0, { name, content }) };
}

// spec/deployment#archive-checks
describe("a forged archive of an application (hostile.md 39)", () => {
  const importing = (pieces: ArchivePieces) =>
    importApplication(Readable.from(putTogether(pieces)), servicesOf(target));

  /** Asserts that nothing was imported or changed. */
  async function assertRefused(forged: ArchivePieces, message: RegExp): Promise<void> {
    const there = await readTables(target.config.databaseUrl);
    await assert.rejects(importing(forged), { name: "ArchiveError", message });
    assert.deepEqual(await readTables(target.config.databaseUrl), there);
    assert.ok(!existsSync(join(target.config.dataDir, "files", source.application.appid)));
  }

  const ofApplication: readonly Attack[] = [
    [
      "rows of another application",
      (pieces) => withValue(pieces, "devices", "application_id", victim()),
      /^Row 1 of devices is not of this application$/,
    ],
    [
      "another application's key after others",
      (pieces) =>
        changeLines(pieces, "application_keys", (lines) => [
          ...lines,
          JSON.stringify({ ...JSON.parse(lines[0] ?? ""), application_id: victim(), id: "apk_evil", digest: "evil" }),
        ]),
      /^Row \d of application_keys is not of this application$/,
    ],
    [
      "operators",
      (pieces) => changeLines(pieces, "operators", () => ["{}"]),
      /^The archive holds rows of operators, which is not a table of an application$/,
    ],
    [
      "stored responses",
      (pieces) => changeLines(pieces, "kept_replies", () => ["{}"]),
      /is not a table of an application$/,
    ],
    [
      "two applications",
      (pieces) => changeLines(pieces, "applications", ([first = ""]) => [first, first]),
      /^The archive does not contain exactly one application$/,
    ],
    [
      "no application",
      (pieces) => ({ ...pieces, entries: pieces.entries.filter(({ name }) => !name.includes("/applications/")) }),
      /^The archive does not contain exactly one application$/,
    ],
    ["a secret of a deployment", (pieces) => withFirst(pieces, "secret", "x"), /^The archive holds secret/],
    ["a short shared secret", (pieces) => withFirst(pieces, "signing-secret", "x"), /must have 16 to 256 characters$/],
    [
      "two shared secrets",
      (pieces) => withFirst(withFirst(pieces, "signing-secret", "x".repeat(16)), "signing-secret", "y".repeat(16)),
      /is out of order$/,
    ],
    ...[
      ...["$argon2id$v=19$m=40,t=1,p=1$", "$argon2id$v=19$m=8,t=5,p=1$", "$argon2id$v=19$m=9,t=4,p=1$"],
      ...["$argon2id$v=19$m=8,t=1,p=64$", "$argon2id$v=19$m=8,t=0,p=1$", "x"],
    ].map(
      (costs): Attack => [
        `a password that costs ${costs}, where own passwords cost 8 KiB and one pass`,
        (pieces) => withHash(pieces, costs),
        /^Row 1 of users cannot be stored: password_hash must be a hash of this server that costs at most four times/,
      ],
    ),
    ...[
      ["a sketch that was merged 2^52 times", "AgAAAAAAAAAAAAAAAQRwaW5nAQABgICAgICAgAgBAAAAAAAAAAA="],
      ["a tally that is cut off", "AgAAAAAA"],
    ].map(
      ([what, base64]): Attack => [
        `statistics with ${what}`,
        (pieces) => withValue(pieces, "statistics", "data", { base64 }),
        /^Row 1 of statistics cannot be stored: data is not what a server writes\. /,
      ],
    ),
    [
      "a roll-up of metrics that is cut off",
      (pieces) => withValue(pieces, "metric_rollups", "data", { base64: "AAAA" }),
      /^Row 1 of metric_rollups cannot be stored: data is not what a server writes\. /,
    ],
    [
      "a roll-up of metrics with an id behind all others",
      (pieces) => withValue(pieces, "metric_rollups", "id", `${"a".repeat(16)}d${"a".repeat(16)}\u00e9`),
      /^Row 1 of metric_rollups cannot be stored: data is not what a server writes\. The id/,
    ],
  ];

  for (const [name, forge, message] of [...attacks, ...ofApplication]) {
    it(`with ${name} is refused and leaves nothing behind`, async () => {
      await assertRefused(forge(application), message);
    });
  }

  it("with an invalid application id is refused, because undoing its import could erase files of another application", async () => {
    const { token } = await target.signUp();
    const key = `${victim()}/blb_1/original`;
    await target.app.bytes.write(key, Readable.from([Buffer.from("theirs")]));
    for (const applicationId of [`${victim()}/blb_1`, "", "..", 1, { base64: "" }]) {
      const forged = ["applications", "devices"].reduce<ArchivePieces>(
        (pieces, table) => withValue(pieces, table, "application_id", applicationId),
        { ...application, head: { ...application.head, applicationId, storedKey: undefined } },
      );
      await assertRefused(forged, /^rollcall\.json of the archive is invalid$/);
      assert.equal(await target.app.bytes.size(key), 6);
    }
    assert.equal((await target.call("GET /users/me", { token })).status, 200);
  });

  it("with odd but valid contents is imported, and does not stop maintenance of other applications", async () => {
    const odd = [
      ["users", "is_reshifting", 1],
      ["users", "location_fuzzing", 1],
      ["users", "lat", 1e308],
      ["users", "lng", { number: "-Infinity" }],
      ["checkins", "lat", 1e308],
      ["metric_inbox", "payload", "a row that is not JSON"],
      ["metric_batches", "row_ids", "a row that is not JSON"],
      ["unfinished_erasures", "object_id", "../../x"],
    ] as const;
    const costly = withHash(application, "$argon2id$v=19$m=8,t=4,p=1$"); // four times the cost of the deployment's own hashes
    await importing(odd.reduce((pieces, [table, column, value]) => withValue(pieces, table, column, value), costly));
    const other = await target.createApplication();
    const { token } = await target.signUp("Jane", other);
    await target.call("POST /metrics/events/level", { token, body: { value: 1 } });
    await maintain(target.app);
    const waiting = await readTables(target.config.databaseUrl, ["metric_inbox"], other.appid);
    assert.deepEqual(waiting["metric_inbox"], []);
  });
});

describe("a forged backup (hostile.md 39)", () => {
  async function restoring(pieces: ArchivePieces) {
    const dataDir = join(folder, `${databases.length}`);
    const database = await createTestDatabase(dataDir);
    databases.push(database);
    const secret = source.config.secrets?.join() ?? "";
    const settings = { DATA_DIR: dataDir, DATABASE_URL: database.url, ROLLCALL_SECRET: secret };
    const options = { isForced: false, isOtherSecret: false, clock: createClock() };
    const read = () => Readable.from(putTogether(pieces));
    return { settings, dataDir, restored: restore(read, loadConfig(settings), options) };
  }

  for (const [name, forge, message] of attacks) {
    it(`with ${name} is refused and leaves nothing behind`, async () => {
      const { settings, dataDir, restored } = await restoring(forge(backup));
      await assert.rejects(restored, (error) => {
        assert.ok(error instanceof ArchiveError);
        // Rows of the forgeries have the names of their tables, in the same order; only the first error is reported.
        assert.match(error.message, message);
        return true;
      });
      const files = join(dataDir, "files");
      if (existsSync(files))
        assert.deepEqual(
          readdirSync(files, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
          [],
        );
      const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 2, timeoutMs: 5_000 });
      try {
        const there = await database.reads.introspection.getTables();
        if (there.length === 0) return;
        for (const rows of Object.values(await readTables(settings.DATABASE_URL, archivedTables)))
          assert.deepEqual(rows, []);
        await assert.rejects(migrate(database), /^PlainFailure: A restore into this database was not finished/);
      } finally {
        await database.close();
      }
    });
  }

  it("is refused by the commands with a message and no stack", async () => {
    const path = join(folder, "forged.tar");
    writeFileSync(path, Buffer.concat([...putTogether(withValue(backup, "operators", "id", {}))]));
    const { code, stderr } = await runProgram("src/cli/cli.ts", ["verify-backup", path], {});
    assert.equal(stderr, "Row 1 of operators cannot be stored: id must be Unicode text without NUL\n");
    assert.equal(code, 1);
  });
});
