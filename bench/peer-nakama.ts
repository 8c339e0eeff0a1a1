import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newFolder } from "../testkit/children.ts";
import { findFreePort } from "../testkit/free-port.ts";
import { password } from "./api.ts";
import { numberMark } from "./load-plan.ts";
import { ask, objectsCount, type Peer, startPeer, textIn } from "./peer.ts";

const serverKey = { Authorization: `Basic ${Buffer.from("defaultkey:").toString("base64")}` };
const login = { email: "reader@example.com", password };

/** Nakama 3: storage objects over its HTTP gateway, on the PostgreSQL of the run. */
export function nakama(program: string): Peer {
  return {
    name: "Nakama",
    async start(postgres) {
      if (postgres === undefined) throw new Error("Nakama needs PostgreSQL");
      const { settings } = await postgres.newDeployment();
      const address = settings["DATABASE_URL"]?.replace("postgres://", "") ?? "";
      const folder = newFolder("nakama");
      await promisify(execFile)(program, ["migrate", "up", "--database.address", address], { cwd: folder });
      const consolePort = await findFreePort();
      const server = await startPeer(
        program,
        (port) => [
          ...["--name", "bench", "--data_dir", folder, "--logger.level", "ERROR", "--database.address", address],
          ...["--socket.address", "127.0.0.1", "--socket.port", String(port)],
          ...["--console.address", "127.0.0.1", "--console.port", String(consolePort)],
          ...["--session.token_expiry_sec", "86400"],
        ],
        "/healthcheck",
        folder,
      );
      const { port } = server;
      const session = await ask(port, "POST", "/v2/account/authenticate/email?create=true", serverKey, login);
      const headers = { Authorization: `Bearer ${textIn(session, "token")}` };
      const { user } = await ask(port, "GET", "/v2/account", headers);
      const userId = textIn(Object(user), "id");
      const write = (key: string) => ({
        objects: [
          {
            collection: "checkins",
            key,
            value: JSON.stringify({ comment: "a visit", location: "48.2082,16.3738" }),
            permission_read: 2,
          },
        ],
      });
      for (let index = 0; index < objectsCount; index += 1) {
        await ask(port, "PUT", "/v2/storage", headers, write(`object-${index}`));
      }
      const objectIds = [{ collection: "checkins", key: "object-1", user_id: userId }];
      const changing = { status: 200, headers } as const;
      return {
        ...server,
        requests: {
          me: { ...changing, method: "GET", path: "/v2/account" },
          get: { ...changing, method: "POST", path: "/v2/storage", body: JSON.stringify({ object_ids: objectIds }) },
          list: { ...changing, method: "GET", path: `/v2/storage/checkins?user_id=${userId}&limit=20` },
          create: { ...changing, method: "PUT", path: "/v2/storage", body: JSON.stringify(write(`new-${numberMark}`)) },
          register: {
            method: "POST",
            path: "/v2/account/authenticate/device?create=true",
            headers: serverKey,
            body: JSON.stringify({ id: `bench-device-${numberMark}` }),
            status: 200,
          },
          login: {
            method: "POST",
            path: "/v2/account/authenticate/email?create=false",
            headers: serverKey,
            body: JSON.stringify(login),
            status: 200,
          },
        },
      };
    },
  };
}
