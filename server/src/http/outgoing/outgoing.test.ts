// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { createLookUp } from "./look-up.ts";
import { createOutgoing, OutgoingError } from "./outgoing.ts";

const certificates = join(import.meta.dirname, "../../../test/certificates");
const cert = readFileSync(join(certificates, "test-only-a.cert.pem"), "utf8");
const key = readFileSync(join(certificates, "test-only-a.key.pem"), "utf8");
const bounds = { bytesMax: 1_000, timeoutMs: 2_000, acceptsType: () => true, isPublicOnly: true };

async function start(t: TestContext, isSecure: boolean, handle: RequestListener): Promise<number> {
  const server = isSecure ? createSecureServer({ cert, key }, handle) : createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** Opens loopback, where the servers of the tests listen. */
function newOutgoing(lookUp: (name: string) => Promise<readonly string[]>, outgoingNetworks = ["127.0.0.0/8"]) {
  return createOutgoing({ outgoingNetworks }, { lookUp });
}

function assertRefused(work: Promise<unknown>, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(error instanceof OutgoingError);
    assert.match(error.message, message);
    return true;
  });
}

describe("a call to an editor's URL (hostile.md 44)", () => {
  it("resolves the name once, connects to that address, and sends the name as Host", async (t) => {
    const heads: IncomingMessage["headers"][] = [];
    const port = await start(t, false, ({ headers }, response) => {
      heads.push(headers);
      response.end("{}");
    });
    const lookedUp: string[] = [];
    const outgoing = newOutgoing(async (name) => {
      lookedUp.push(name);
      // A second lookup would lead to an address where nothing listens.
      return lookedUp.length === 1 ? ["127.0.0.1"] : ["127.9.9.9"];
    });
    assert.equal((await outgoing.fetchBytes(`http://keys.example:${port}/keys`, bounds)).toString(), "{}");
    assert.deepEqual(lookedUp, ["keys.example"]);
    assert.deepEqual([heads[0]?.host, heads[0]?.connection], [`keys.example:${port}`, "close"]);
  });

  it("reuses no connection, so that each call is checked", async (t) => {
    let connections = 0;
    const port = await start(t, false, (request, response) => {
      connections += request.socket.bytesRead > 0 ? 1 : 0;
      response.end();
    });
    let addresses = ["127.0.0.1"];
    const outgoing = newOutgoing(async () => addresses);
    await outgoing.fetchBytes(`http://keys.example:${port}/`, bounds);
    addresses = ["10.0.0.1"];
    await assertRefused(
      outgoing.fetchBytes(`http://keys.example:${port}/`, bounds),
      /^keys\.example leads to 10\.0\.0\.1, which is not a public address$/,
    );
    assert.equal(connections, 1);
  });

  it("is refused if the name has no address, or an internal one among others", async () => {
    const refused = /which is not a public address$/;
    await assertRefused(newOutgoing(async () => ["1.1.1.1", "10.0.0.1"]).findPublicAddresses("a.example"), refused);
    await assertRefused(newOutgoing(async () => ["1.1.1.1", "::1"]).findPublicAddresses("a.example"), refused);
    await assertRefused(newOutgoing(async () => []).findPublicAddresses("a.example"), /^a\.example has no address$/);
  });

  it("is refused for IP literals in any notation, without a lookup", async () => {
    const outgoing = newOutgoing(async () => assert.fail("there is nothing to look up"), []);
    const literals = ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "0x7f.1"];
    for (const host of [...literals, "[::1]", "::1", "[::ffff:10.0.0.1]", "[::ffff:a00:1]", "169.254.169.254"]) {
      await assertRefused(outgoing.findPublicAddresses(host), /which is not a public address$/);
    }
    assert.deepEqual(await outgoing.findPublicAddresses("0x01010101"), ["1.1.1.1"]);
  });

  it("is refused for localhost by the real lookup, whatever name servers answer", async () => {
    const outgoing = newOutgoing(createLookUp(), []);
    for (const host of ["localhost", "LOCALHOST.", "a.localhost"]) {
      await assertRefused(outgoing.findPublicAddresses(host), /which is not a public address$/);
    }
  });

  it("ignores proxies in the environment", async (t) => {
    let direct = 0;
    const port = await start(t, false, (_request, response) => {
      direct += 1;
      response.end();
    });
    const proxy = await start(t, false, (_request, response) => response.writeHead(502).end());
    for (const name of ["http_proxy", "HTTP_PROXY", "NODE_USE_ENV_PROXY"]) {
      const was = process.env[name];
      process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : `http://127.0.0.1:${proxy}`;
      t.after(() => {
        if (was === undefined) delete process.env[name];
        else process.env[name] = was;
      });
    }
    await newOutgoing(async () => ["127.0.0.1"]).fetchBytes(`http://keys.example:${port}/`, bounds);
    assert.equal(direct, 1);
  });

  it("is aborted by its caller's signal", async (t) => {
    const port = await start(t, false, () => {});
    const abort = new AbortController();
    const call = newOutgoing(async () => ["127.0.0.1"]).fetchBytes(`http://a.example:${port}/`, {
      ...bounds,
      signal: abort.signal,
    });
    setTimeout(() => abort.abort(), 50);
    await assert.rejects(call, OutgoingError);
  });

  it("counts a lookup that never completes toward its timeout", async () => {
    const outgoing = newOutgoing(() => new Promise(() => {}));
    await assertRefused(
      outgoing.fetchBytes("http://a.example/", { ...bounds, timeoutMs: 50 }),
      /^no whole answer within 50 ms$/,
    );
  });
});

describe("a call over https", () => {
  const systemCertificates = getCACertificates("default");
  before(() => setDefaultCACertificates([...systemCertificates, cert]));
  after(() => setDefaultCACertificates(systemCertificates));

  it("connects to the checked address with the name in SNI, and requires a certificate for the name", async (t) => {
    const names: unknown[] = [];
    const port = await start(t, true, ({ socket }, response) => {
      names.push((socket as TLSSocket).servername);
      response.end("{}");
    });
    const outgoing = newOutgoing(async () => ["127.0.0.1"]);
    await outgoing.fetchBytes(`https://localhost:${port}/`, bounds);
    assert.deepEqual(names, ["localhost"]);
    await assertRefused(
      outgoing.fetchBytes(`https://keys.example:${port}/`, bounds),
      /^ERR_TLS_CERT_ALTNAME_INVALID: /,
    );
    await outgoing.fetchBytes(`https://127.0.0.1:${port}/`, bounds);
    assert.deepEqual(names, ["localhost", false]);
  });

  it("is refused with an untrusted certificate", async (t) => {
    setDefaultCACertificates(systemCertificates);
    t.after(() => setDefaultCACertificates([...systemCertificates, cert]));
    const port = await start(t, true, (_request, response) => response.end("{}"));
    const outgoing = newOutgoing(async () => ["127.0.0.1"]);
    await assertRefused(outgoing.fetchBytes(`https://localhost:${port}/`, bounds), /SELF_SIGNED|VERIFY/);
  });
});

describe("a delivery to a webhook (hostile.md 44)", () => {
  const message = { headers: {}, body: "{}" };
  const bounded = { timeoutMs: 1_000, charactersMax: 1_024 };
  function toWebhooks(addresses: readonly string[] | (() => readonly string[]), webhookNetworks = ["127.0.0.0/8"]) {
    const lookUp = async () => (typeof addresses === "function" ? addresses() : addresses);
    return createOutgoing({ outgoingNetworks: [], webhookNetworks }, { lookUp });
  }
  const problemOf = (sent: Promise<unknown>) =>
    sent.then(
      () => "none",
      (error) => {
        assert.ok(error instanceof OutgoingError, `${error}`);
        return error.problem;
      },
    );

  it("is refused at every attempt if an address is not allowed, even if the name resolves to it only later (events.md E12)", async (t) => {
    let connections = 0;
    const port = await start(t, false, (_, response) => {
      connections += 1;
      response.end();
    });
    let addresses = ["127.0.0.1"];
    const outgoing = toWebhooks(() => addresses);
    const url = `http://rebound.example:${port}/`;
    assert.equal((await outgoing.post(url, message, bounded)).status, 200);
    for (addresses of [["10.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["127.0.0.1", "::1"], ["169.254.169.254"]]) {
      assert.equal(await problemOf(outgoing.post(url, message, bounded)), "refused");
    }
    assert.equal(connections, 1);
  });

  it("uses http and other ports only in WEBHOOK_NETWORKS", async () => {
    const outgoing = toWebhooks(["1.1.1.1"]);
    for (const url of ["http://a.example/", "https://a.example:22/"]) {
      assert.equal(await problemOf(outgoing.post(url, message, bounded)), "refused");
    }
    const mixed = toWebhooks(["1.1.1.1", "127.0.0.1"]);
    assert.equal(await problemOf(mixed.post("http://a.example/", message, bounded)), "refused");
    for (const host of [
      "127.1",
      "0x7f000001",
      "[::ffff:10.0.0.1]",
      "[64:ff9b::a00:1]",
      "[2002:a00:1::]",
      "localhost",
    ]) {
      const closed = createOutgoing({ outgoingNetworks: ["0.0.0.0/1"] }, { lookUp: createLookUp() });
      assert.equal(await problemOf(closed.post(`https://${host}/`, message, bounded)), "refused", host);
    }
  });

  it("does not follow a redirect (events.md E12)", async (t) => {
    let followed = 0;
    const inner = await start(t, false, (_, response) => {
      followed += 1;
      response.end();
    });
    const port = await start(t, false, (_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${inner}/` }).end();
    });
    const { status } = await toWebhooks([]).post(`http://127.0.0.1:${port}/`, message, bounded);
    assert.deepEqual([status, followed], [302, 0]);
  });

  it("sends no secret of the server and no proxy headers, and reuses no connection", async (t) => {
    const heads: IncomingMessage["headers"][] = [];
    const port = await start(t, false, ({ headers }, response) => {
      heads.push(headers);
      response.end();
    });
    await toWebhooks([]).post(`http://127.0.0.1:${port}/`, { headers: { "x-a": "1" }, body: "{}" }, bounded);
    assert.deepEqual(heads, [
      {
        "x-a": "1",
        "accept-encoding": "identity",
        "content-length": "2",
        host: `127.0.0.1:${port}`,
        connection: "close",
      },
    ]);
  });

  // In each case the receiver is slow or endless in another place (events.md E13).
  const endless: Record<string, [RequestListener, outcome: string | number]> = {
    "answers just in time": [(_, response) => void setTimeout(() => response.end(), 700), 200],
    "never answers": [() => {}, "timeout"],
    "sends headers for ever": [
      (_, { socket }) => {
        socket?.write("HTTP/1.1 200 OK\r\n");
        const timer = setInterval(() => socket?.write(`x-${"y".repeat(1_000)}: 1\r\n`), 1);
        socket?.on("close", () => clearInterval(timer)).on("error", () => {});
      },
      "answer",
    ],
    "sends informational answers for ever": [
      (_, response) => {
        const timer = setInterval(() => response.writeProcessing(), 1);
        response.on("close", () => clearInterval(timer));
      },
      "timeout",
    ],
    "sends a body for ever": [
      (_, response) => {
        response.on("error", () => {});
        const chunk = Buffer.alloc(65_536, "x");
        function write(): void {
          if (response.destroyed) return;
          if (response.write(chunk)) setImmediate(write);
          else response.once("drain", write);
        }
        write();
      },
      200,
    ],
    "sends a byte a second": [
      (_, response) => {
        const timer = setInterval(() => response.write("x"), 100);
        response.on("close", () => clearInterval(timer));
      },
      200,
    ],
    "closes before it answers": [(request) => request.socket.destroy(), "connection"],
    "closes in its answer": [
      (request, response) => {
        response.writeHead(200, { "content-length": "100" }).write("x");
        setTimeout(() => request.socket.destroy(), 20);
      },
      200,
    ],
    "sends no HTTP": [({ socket }) => void socket.end("hello\r\n\r\n"), "answer"],
  };
  for (const [what, [handle, expected]] of Object.entries(endless)) {
    it(`takes bounded time and memory with a receiver that ${what}`, async (t) => {
      const port = await start(t, false, handle);
      const sent = toWebhooks([]).post(`http://127.0.0.1:${port}/`, message, bounded);
      const outcome = await sent.then(
        ({ status, text }) => {
          assert.ok(text.length <= 1_024);
          return status;
        },
        (error) => error.problem,
      );
      assert.equal(outcome, expected);
    });
  }

  it("fails if the receiver closes the connection during the TLS handshake", async (t) => {
    const server = createNetServer((socket) => {
      socket.on("error", () => {}).once("data", () => socket.destroy());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    assert.equal(await problemOf(toWebhooks([]).post(`https://127.0.0.1:${port}/`, message, bounded)), "connection");
  });

  it("checks certificates, whatever NODE_TLS_REJECT_UNAUTHORIZED says", async (t) => {
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    t.after(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]);
    const port = await start(t, true, (_, response) => response.end());
    assert.equal(await problemOf(toWebhooks([]).post(`https://127.0.0.1:${port}/`, message, bounded)), "certificate");
  });
});
