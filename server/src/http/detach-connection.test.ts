// Runs on one engine: the engine cannot make a difference to connections.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { type Scrape, scrape } from "../../test/scrapes.ts";
import { until } from "../../test/until.ts";

const metricsToken = "a-token-for-scrapes";
const waitMsMax = 30_000;

/** A client over a plain socket, and the text that it has received. */
interface BareClient {
  readonly socket: Socket;
  readonly text: () => string;
}

// spec/streams#open-a-stream
describe("the connection of a stream", () => {
  let test: TestApp;
  let jane: TestUser;
  const clients: BareClient[] = [];
  before(async () => {
    test = await startTestApp({ RATE_LIMITS: "off", METRICS_TOKEN: metricsToken });
    jane = await test.signUp();
  });
  after(async () => {
    for (const { socket } of clients) socket.destroy();
    await test.close();
  });

  function requestOf(path: string): string {
    return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Service ${jane.token}\r\n\r\n`;
  }

  function open(sent: string, { port }: Pick<TestApp, "port"> = test): BareClient {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    socket.setEncoding("utf8");
    socket.on("data", (data) => {
      text += data;
    });
    socket.on("error", () => {});
    socket.write(sent);
    const client = { socket, text: () => text };
    clients.push(client);
    return client;
  }

  async function openStream(): Promise<BareClient> {
    const client = open(requestOf("/events/stream"));
    await until(() => client.text().includes("event: ready"));
    return client;
  }

  async function checkIn(): Promise<string> {
    const answer = await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.result.id;
  }

  async function untilScraped(isReached: (scraped: Scrape) => boolean): Promise<void> {
    await until(async () => isReached(await scrape(test.port, metricsToken)), waitMsMax);
  }

  const isLive = (count: number) => (scraped: Scrape) => scraped.get('rollcall_event_streams{state="live"}') === count;

  it("ignores later bytes from the client, and events continue", async () => {
    const { socket, text } = await openStream();
    socket.write("\0\0 not HTTP\r\n\r\n");
    socket.write(requestOf("/users/me"));
    const id = await checkIn();
    await until(() => text().includes(id));
    assert.equal(text().match(/HTTP\/1\.1/g)?.length, 1);
    socket.destroy();
    await untilScraped(isLive(0));
  });

  it("is closed when the client half-closes it", async () => {
    const { socket } = await openStream();
    await untilScraped(isLive(1));
    socket.end();
    await untilScraped(isLive(0));
  });

  it("carries its stream even if another request was sent together with the first, and neither counts as in flight", async () => {
    const client = open(`${requestOf("/events/stream")}${requestOf("/users/me")}`);
    await until(() => client.text().includes("event: ready"));
    const id = await checkIn();
    await until(() => client.text().includes(id));
    client.socket.destroy();
    await untilScraped(
      (scraped) => isLive(0)(scraped) && scraped.get("rollcall_http_requests_in_flight") === 1, // the scrape itself
    );
  });

  it("is no longer counted when the client disconnects before its stream has begun", async () => {
    for (let ms = 0; ms < 40; ms += 1) {
      const { socket } = open(requestOf("/events/stream"));
      await sleep(ms / 4);
      socket.destroy();
    }
    await untilScraped((scraped) => isLive(0)(scraped) && scraped.get('rollcall_event_streams{state="waiting"}') === 0);
  });

  it("is cut at the shutdown if the client reads nothing", async () => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl, ROLLCALL_SECRET: secretOf(test) });
    const { socket, text } = open(requestOf("/events/stream"), other);
    await until(() => text().includes("event: ready"));
    socket.pause();
    await other.app.close(100);
    socket.resume();
    await until(() => socket.readableEnded || socket.destroyed);
    assert.ok(text().includes("event: bye"));
    await other.close();
  });
});

function secretOf({ config }: TestApp): string {
  return `${config.secrets?.[0]}`;
}
