import { formHeaders } from "../testkit/forms.ts";
import { password } from "./api.ts";
import { argon2, bareHttp, durableInserts, type StartCeiling } from "./ceilings.ts";
import type { Engine } from "./engine.ts";
import { bareFiles } from "./file-ceilings.ts";
import { formOfFile } from "./file-transfer.ts";
import { commentOf, type Fixture, loginName, loginUsersMax, smallFileBytes } from "./fixture.ts";
import { numberMark, type RequestShape } from "./load-plan.ts";

/** A request that is measured against its ceiling. */
export interface Scenario {
  /** For `--only`. */
  readonly key: string;
  readonly name: string;
  readonly status: number;
  request(fixture: Fixture): RequestShape;
  readonly startCeiling: StartCeiling;
  /** The most connections to use: more would only wait in the hash queue. */
  readonly connectionsMax?: number;
  /** The upper bound of the numbers in its bodies. */
  readonly numbersMax?: number;
  /** Whether its slow responses must be awaited, because the server continues to work after a connection is cut. */
  readonly isSlow?: boolean;
  /** The result that a machine with two cores should reach. */
  readonly goals?: Readonly<Partial<Record<Engine["name"], Goal>>>;
}

/** Calls per second, or the share of the ceiling. */
export type Goal = { readonly perSecond: number } | { readonly ratio: number };

/** Enough to keep all hash threads busy while some of the requests are in transit. */
const hashConnections = 16;

/** The requests of the service, in the order in which a client makes them. */
export const scenarios: readonly Scenario[] = [
  {
    key: "register",
    name: "POST /devices",
    status: 201,
    request: ({ credentials }) => ({
      method: "POST",
      path: "/devices",
      body: JSON.stringify({ ...credentials, platform: "bench", uniqueId: `bench-a-device-${numberMark}` }),
    }),
    startCeiling: durableInserts("devices"),
  },
  {
    key: "sign-up",
    name: "POST /users",
    status: 200,
    request: ({ deviceToken }) => ({
      method: "POST",
      path: "/users",
      token: deviceToken,
      body: JSON.stringify({ username: `new-user-${numberMark}`, password }),
    }),
    startCeiling: argon2("hash"),
    connectionsMax: hashConnections,
    isSlow: true,
  },
  {
    key: "login",
    name: "POST /users/login",
    status: 200,
    request: loginRequest,
    startCeiling: argon2("verify"),
    connectionsMax: hashConnections,
    numbersMax: loginUsersMax,
    isSlow: true,
    goals: { SQLite: { ratio: 0.85 }, PostgreSQL: { ratio: 0.85 } },
  },
  {
    key: "me",
    name: "GET /users/me",
    status: 200,
    request: ownProfileRequest,
    startCeiling: bareHttp,
  },
  {
    key: "check-in",
    name: "POST /checkins",
    status: 201,
    request: ({ writer }) => ({
      method: "POST",
      path: "/checkins",
      token: writer.token,
      body: JSON.stringify({ location: "48.2082,16.3738", comment: commentOf(numberMark) }),
    }),
    startCeiling: durableInserts("checkins"),
  },
  {
    key: "change",
    name: "PATCH /checkins/{id}",
    status: 200,
    request: ({ reader, checkinId }) => ({
      method: "PATCH",
      path: `/checkins/${checkinId}`,
      token: reader.token,
      body: JSON.stringify({ comment: commentOf(numberMark) }),
    }),
    startCeiling: durableInserts("checkins"),
  },
  {
    key: "metric",
    name: "POST /metrics/events/{event}",
    status: 201,
    request: ({ writer }) => ({
      method: "POST",
      path: "/metrics/events/level-won",
      token: writer.token,
      body: JSON.stringify({ values: { level: 7, duration: 31.5, world: "ice", session: numberMark } }),
    }),
    startCeiling: durableInserts("metric_handles"),
    goals: { SQLite: { perSecond: 8_000 } },
  },
  {
    key: "list",
    name: "GET /checkins, 20",
    status: 200,
    request: ({ reader }) => ({ method: "GET", path: "/checkins?pageSize=20", token: reader.token }),
    startCeiling: bareHttp,
  },
  {
    key: "get",
    name: "GET /checkins/{id}",
    status: 200,
    request: ({ reader, checkinId }) => ({ method: "GET", path: `/checkins/${checkinId}`, token: reader.token }),
    startCeiling: bareHttp,
  },
  {
    key: "metadata-put",
    name: "PUT /metadata/app/{key}",
    status: 200,
    request: ({ reader }) => ({
      method: "PUT",
      path: "/metadata/app/key-1",
      token: reader.token,
      body: `{"value":{"theme":"dark","visit":"${numberMark}"}}`,
    }),
    startCeiling: durableInserts("checkins"),
  },
  {
    key: "metadata-increment",
    name: "POST …/{key}/increment",
    status: 200,
    request: ({ deviceToken }) => ({
      method: "POST",
      path: "/metadata/app/visits/increment",
      token: deviceToken,
      body: JSON.stringify({ visibility: "App", delta: 2 }),
    }),
    startCeiling: durableInserts("checkins"),
    goals: { SQLite: { perSecond: 6_000 } },
  },
  {
    key: "metadata-get",
    name: "GET /metadata/app/{key}",
    status: 200,
    request: ({ reader }) => ({ method: "GET", path: "/metadata/app/key-1", token: reader.token }),
    startCeiling: bareHttp,
  },
  {
    key: "metadata-list",
    name: "GET /metadata/app, 20",
    status: 200,
    request: ({ reader }) => ({ method: "GET", path: "/metadata/app?pageSize=20", token: reader.token }),
    startCeiling: bareHttp,
  },
  {
    key: "file-put",
    name: "POST /blobs, 10 KB",
    status: 201,
    request: ({ writer }) => ({
      method: "POST",
      path: "/blobs",
      token: writer.token,
      body: formOfFile("x".repeat(smallFileBytes)),
      contentType: formHeaders["content-type"],
    }),
    startCeiling: bareFiles(smallFileBytes, 201),
  },
  {
    key: "file-get",
    name: "GET /blobs/{id}/file, 10 KB",
    status: 200,
    request: ({ reader, blobId }) => ({ method: "GET", path: `/blobs/${blobId}/file`, token: reader.token }),
    startCeiling: bareFiles(smallFileBytes, 200),
  },
];

export function loginRequest({ deviceToken }: Fixture): RequestShape {
  return {
    method: "POST",
    path: "/users/login",
    token: deviceToken,
    body: JSON.stringify({ username: loginName(numberMark), password }),
  };
}

export function ownProfileRequest({ reader }: Fixture): RequestShape {
  return { method: "GET", path: "/users/me", token: reader.token };
}
