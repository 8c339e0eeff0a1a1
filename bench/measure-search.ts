import { destination, type Location } from "../server/src/lib/locations.ts";
import { insertUser, newUserRow } from "../server/src/users/users.store.ts";
import { type BenchUser, registerDevice, signUp } from "./api.ts";
import { createApplication } from "./engine.ts";
import { fill, fillCheckins } from "./fill.ts";
import { commentOf, type Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import type { LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { formatMany, type Row } from "./report.ts";
import { columnsOf, type Measure, measureInTurns, median, repeat, withCpuTime } from "./turns.ts";

/** Check-ins per square kilometre: some twenty in a circle of one kilometre. */
const perSquareKilometer = 6.4;
const middle: Location = { lat: 48.2, lng: 16.4 };
const usersCount = 10_000;
/** As many different searched points as the load generator can hold. */
const placesCount = 500;
const factorGoal = 1.5;
const perSecondGoal = 2_000;

interface Search {
  readonly name: string;
  pathAt(place: Location): string;
  readonly isGoal?: boolean;
}

const searches: readonly Search[] = [
  {
    name: "radius 1 km",
    pathAt: ({ lat, lng }) => `/checkins?locationRange=${lat.toFixed(6)},${lng.toFixed(6)},1000`,
    isGoal: true,
  },
  {
    name: "1 km, by distance",
    pathAt: ({ lat, lng }) => `/checkins?sortOrder=distance&locationRange=${lat.toFixed(6)},${lng.toFixed(6)},1000`,
  },
  {
    name: "radius 50 km",
    pathAt: ({ lat, lng }) => `/checkins?locationRange=${lat.toFixed(6)},${lng.toFixed(6)},50000`,
  },
  {
    name: "box 2 × 2 km",
    pathAt: ({ lat, lng }) => {
      const [south, west, north, east] = [lat - 0.009, lng - 0.0135, lat + 0.009, lng + 0.0135];
      return `/checkins?locationRange=${south.toFixed(6)},${west.toFixed(6)}-${north.toFixed(6)},${east.toFixed(6)}`;
    },
  },
];

/** Check-ins of one user and as many shared ones of another user, spread evenly over a square. */
interface World {
  readonly applicationId: string;
  readonly count: number;
  readonly user: BenchUser;
  readonly places: readonly Location[];
}

/** Searches in areas: among few check-ins, and among many of the same density. Then searches among users. */
export const measureSearch: Measure = async (fixture, options, report) => {
  const [few = 0, ...more] = options.searchSizes;
  const small = await createWorld(fixture, few);
  report(`${formatMany(few)} check-ins are stored`);
  const rows: Row[] = [];
  for (const count of more) {
    const large = await createWorld(fixture, count);
    report(`${formatMany(count)} check-ins are stored`);
    for (const search of searches) rows.push(await compare(search, small, large, fixture, options, report));
  }
  rows.push(await measureUserSearch(small, fixture, options));
  return rows;
};

async function createWorld({ server, deployment }: Fixture, count: number): Promise<World> {
  const { port } = server;
  const credentials = await createApplication(deployment);
  const deviceToken = await registerDevice(port, credentials, "bench-search");
  const user = await signUp(port, deviceToken, "searcher");
  const other = await signUp(port, deviceToken, "sharer");
  const sideMeters = Math.sqrt(count / perSquareKilometer) * 1000;
  await fillCheckins(deployment, count, (number) => ({
    application_id: credentials.appid,
    user_id: number % 2 === 0 ? user.id : other.id,
    read_permission: number % 2 === 0 ? null : 1,
    comment: commentOf(String(number)),
    ...somewhere(sideMeters),
  }));
  return {
    applicationId: credentials.appid,
    count,
    user,
    places: Array.from({ length: placesCount }, () => somewhere(sideMeters * 0.9)),
  };
}

function somewhere(sideMeters: number): Location {
  const north = destination(middle, 0, (Math.random() - 0.5) * sideMeters);
  return destination(north, 90, (Math.random() - 0.5) * sideMeters);
}

function load({ server }: Fixture, { user, places }: World, search: Search, options: Options): Promise<LoadResult> {
  const request = { method: "GET", path: "/", paths: places.map(search.pathAt), token: user.token } as const;
  const { connections, seconds } = options;
  return runLoad({ port: server.port, request, status: 200, connections, seconds });
}

async function compare(
  search: Search,
  small: World,
  large: World,
  fixture: Fixture,
  options: Options,
  report: (line: string) => void,
): Promise<Row> {
  for (const world of [small, large]) await load(fixture, world, search, options); // warms up
  const { pairs, ratio, median } = await measureInTurns(
    options,
    () => load(fixture, small, search, options),
    () => withCpuTime(fixture.server.cpuSeconds, () => load(fixture, large, search, options)),
    (few, many) => few.perSecond / many.perSecond,
    ({ own, ratio }) => report(`${search.name}: ${formatMany(own.perSecond)}/s, × ${ratio.toFixed(2)}`),
  );
  const perSecond = median(({ own }) => own.perSecond);
  const isMet = perSecond >= perSecondGoal && ratio <= factorGoal;
  return {
    name: `${search.name} of ${formatMany(large.count)}`,
    measured: `${formatMany(perSecond)}/s`,
    ...columnsOf(pairs.map(({ own }) => own)),
    against: `of ${formatMany(small.count)} ${formatMany(median(({ base }) => base.perSecond))}/s`,
    factor: ratio,
    ...(search.isGoal &&
      fixture.engine.name === "SQLite" &&
      large.count === 1_000_000 && { goal: { text: `≥ ${formatMany(perSecondGoal)}/s, ≤ × ${factorGoal}`, isMet } }),
    details: { checkins: large.count, pairs },
  };
}

/** Twenty of ten thousand users have the searched last name. */
async function measureUserSearch(world: World, fixture: Fixture, options: Options): Promise<Row> {
  const { deployment, server } = fixture;
  const names = usersCount / 20;
  await fill(deployment, usersCount, (number, ids, queries) => {
    const id = ids.newId("User");
    const user = newUserRow({
      application_id: world.applicationId,
      id,
      user_name: id,
      user_name_key: id,
      password_hash: "",
      last_name: `Name ${number % names}`,
      created_at: number,
    });
    return insertUser(user, queries);
  });
  const paths = Array.from({ length: names }, (_, number) => `/users?lastName=Name%20${number}`);
  const request = { method: "GET", path: "/", paths, token: world.user.token } as const;
  const { connections, seconds } = options;
  const plan = { port: server.port, request, status: 200, connections, seconds };
  await runLoad(plan);
  const loads = await repeat(options, () => runLoad(plan));
  return {
    name: `GET /users, 20 of ${formatMany(usersCount)}`,
    measured: `${formatMany(median(loads.map(({ perSecond }) => perSecond)))}/s`,
    ...columnsOf(loads),
    details: { users: usersCount, loads },
  };
}
