import { newFolder } from "../testkit/children.ts";
import { password } from "./api.ts";
import { numberMark } from "./load-plan.ts";
import { ask, objectsCount, type Peer, startPeer, textIn } from "./peer.ts";

const application = { "X-Parse-Application-Id": "bench" };
const login = { username: "reader", password };

/** Parse Server over its REST API, on the PostgreSQL of the run. */
export function parseServer(program: string): Peer {
  return {
    name: "Parse Server",
    async start(postgres) {
      if (postgres === undefined) throw new Error("Parse Server needs PostgreSQL");
      const { settings } = await postgres.newDeployment();
      const folder = newFolder("parse-server");
      const server = await startPeer(
        program,
        (port) => [
          ...["--appId", "bench", "--masterKey", "bench-master", "--databaseURI", settings["DATABASE_URL"] ?? ""],
          ...["--host", "127.0.0.1", "--port", String(port), "--serverURL", `http://127.0.0.1:${port}/parse`],
          ...["--mountPath", "/parse", "--allowClientClassCreation", "true", "--logLevel", "error"],
        ],
        "/parse/health",
        folder,
      );
      const { port } = server;
      const signedUp = await ask(port, "POST", "/parse/users", application, login);
      const headers = { ...application, "X-Parse-Session-Token": textIn(signedUp, "sessionToken") };
      const location = { __type: "GeoPoint", latitude: 48.2082, longitude: 16.3738 };
      const checkin = { comment: `visit ${numberMark}`, location };
      let id = "";
      for (let index = 0; index < objectsCount; index += 1) {
        id = textIn(await ask(port, "POST", "/parse/classes/Checkin", headers, checkin), "objectId");
      }
      const read = { method: "GET", headers, status: 200 } as const;
      const create = { method: "POST", headers, status: 201 } as const;
      return {
        ...server,
        requests: {
          me: { ...read, path: "/parse/users/me" },
          get: { ...read, path: `/parse/classes/Checkin/${id}` },
          list: { ...read, path: "/parse/classes/Checkin?limit=20&order=-createdAt" },
          create: { ...create, path: "/parse/classes/Checkin", body: JSON.stringify(checkin) },
          register: {
            ...create,
            headers: application,
            path: "/parse/installations",
            body: JSON.stringify({ deviceType: "android", installationId: `bench-device-${numberMark}` }),
          },
          login: {
            method: "POST",
            path: "/parse/login",
            headers: application,
            body: JSON.stringify(login),
            status: 200,
          },
        },
      };
    },
  };
}
