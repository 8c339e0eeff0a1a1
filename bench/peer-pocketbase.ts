import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newFolder } from "../testkit/children.ts";
import { password } from "./api.ts";
import { numberMark } from "./load-plan.ts";
import { ask, objectsCount, type Peer, startPeer, textIn } from "./peer.ts";

const superuser = { identity: "bench@example.com", password };
const user = { email: "reader@example.com", password };
const collectionPath = "/api/collections/checkins/records";

/** PocketBase 0.23 or later: a collection with public rules, as its documentation describes. It has no devices. */
export function pocketbase(program: string): Peer {
  return {
    name: "PocketBase",
    async start() {
      const folder = newFolder("pocketbase");
      await promisify(execFile)(program, ["superuser", "upsert", superuser.identity, password, `--dir=${folder}`]);
      const server = await startPeer(
        program,
        (port) => ["serve", `--http=127.0.0.1:${port}`, `--dir=${folder}`],
        "/api/health",
        folder,
      );
      const { port } = server;
      const admin = await ask(port, "POST", "/api/collections/_superusers/auth-with-password", {}, superuser);
      const isForAll = { listRule: "", viewRule: "", createRule: "" };
      await ask(
        port,
        "POST",
        "/api/collections",
        { Authorization: textIn(admin, "token") },
        {
          name: "checkins",
          type: "base",
          ...isForAll,
          fields: [
            { name: "comment", type: "text" },
            { name: "location", type: "geoPoint" },
            { name: "created", type: "autodate", onCreate: true },
          ],
          indexes: ["create index checkins_created on checkins (created)"],
        },
      );
      const signUp = { ...user, passwordConfirm: password };
      const userId = textIn(await ask(port, "POST", "/api/collections/users/records", {}, signUp), "id");
      const login = { identity: user.email, password };
      const token = textIn(await ask(port, "POST", "/api/collections/users/auth-with-password", {}, login), "token");
      const headers = { Authorization: token };
      const checkin = { comment: `visit ${numberMark}`, location: { lat: 48.2082, lon: 16.3738 } };
      let id = "";
      for (let index = 0; index < objectsCount; index += 1) {
        id = textIn(await ask(port, "POST", collectionPath, headers, checkin), "id");
      }
      const read = { method: "GET", headers, status: 200 } as const;
      return {
        ...server,
        requests: {
          me: { ...read, path: `/api/collections/users/records/${userId}` },
          get: { ...read, path: `${collectionPath}/${id}` },
          list: { ...read, path: `${collectionPath}?perPage=20&sort=-created&skipTotal=1` },
          create: { method: "POST", path: collectionPath, headers, body: JSON.stringify(checkin), status: 200 },
          login: {
            method: "POST",
            path: "/api/collections/users/auth-with-password",
            body: JSON.stringify(login),
            status: 200,
          },
        },
      };
    },
  };
}
