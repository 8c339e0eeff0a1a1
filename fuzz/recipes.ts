import type { Actor, Application } from "./actors.ts";
import type { Operation } from "./document.ts";
import type { Random } from "./random.ts";
import { oddCase, plausibleDate, plausibleText } from "./values.ts";
import { disabledOperations, type World } from "./world.ts";

/** The context in which a call is composed. */
export interface Setting {
  readonly operation: Operation;
  readonly caller: Actor | undefined;
  /** The application of the caller, or the one that an operator works on. */
  readonly application: Application;
  readonly world: World;
  readonly random: Random;
  /** Known ids, by prefix. */
  ids(prefix: string): readonly string[];
}

/** Values that depend on more than their format; undefined leaves the parameter out. */
type Values = Readonly<Record<string, unknown>>;

/** Parameters that mean the same in all operations. */
export function commonValue(name: string, setting: Setting): unknown {
  const { random, application, caller } = setting;
  switch (name) {
    case "appid":
    case "application":
      return application.appid;
    case "identityProviderName":
      return random.chance(0.8) ? "crm" : random.pick(["google", "a b/c", plausibleText(random, 20)]);
    case "identityId":
    case "identityID":
      return `identity ${random.below(15)}`;
    case "key":
      return random.pick(["level", "theme", "world", plausibleText(random, 30)]);
    case "keyPrefix":
      return random.pick(["l", "th", "%"]);
    case "pageSize":
      return random.pick([1, 2, "3", 10, 50]);
    case "pagingToken":
      return random.pick(["10;0", " 5 ; 2 ", "1;100", ...(caller?.pageTokens ?? [])]);
    case "fingerprint":
      return random.pick(application.fingerprints) ?? random.word(32);
    case "email":
      return `${random.word(8)}@fuzz.example`;
    case "size":
      return random.pick(["10", "1,1", "640,480"]);
    case "celebMode":
      return false;
    default:
      return undefined;
  }
}

/** Values that single operations need to succeed. */
export const recipes: Readonly<Record<string, (setting: Setting) => Values>> = {
  registerDevice: ({ application: { appid, appkey }, random }) => ({
    appid,
    appkey,
    uniqueId: `fuzz-${random.word(3)}`,
  }),
  createUser: ({ random }) => ({ username: `made-${random.word(10)}`, password: `password-${random.word(6)}` }),
  loginUser: ({ application, random, world }) => {
    const { userName, password } =
      random.pick(world.clients.filter((each) => each.kind === "user" && each.application === application)) ?? {};
    return { username: oddCase(userName ?? "nobody", random), password: password ?? "none" };
  },
  changeUser: ({ caller, random }) => {
    const isUser = caller?.kind === "user";
    const isPassword = isUser && random.chance(0.1);
    return {
      userId: random.chance(0.8) ? "me" : isUser ? caller.userId : "me",
      username: random.chance(0.1) ? `changed-${random.word(10)}` : undefined,
      password: isPassword ? `password-${random.word(6)}` : undefined,
      currentPassword: isPassword ? caller.password : undefined,
    };
  },
  deleteUser: ({ caller }) => ({ userId: caller?.kind === "user" ? caller.userId : "me" }),
  setProfilePicture: () => ({ userId: "me" }),
  getProfilePicture: () => ({ userId: "me" }),
  deleteProfilePicture: () => ({ userId: "me" }),
  requestPasswordReset: ({ random }) => ({
    userName: random.word(8),
    subject: plausibleText(random, 100),
    body: `Your code is @ResetCode. ${plausibleText(random, 100)}`,
  }),
  requestEmailCode: ({ random }) => ({
    email: random.chance(0.7) ? `${random.word(8)}@example.org` : undefined,
    subject: undefined,
    body: undefined,
  }),
  readPictureFile: unsigned,
  readProfilePictureFile: () => ({ ...unsigned(), userId: "me" }),
  readVideoFile: unsigned,
  readBlobFile: unsigned,
  searchCheckins: ({ random }) => sparse({ comment: plausibleText(random), description: "x", tag: "x" }, random),
  createLocation: website,
  changeLocation: website,
  createPublicLocation: website,
  changePublicLocation: (setting) => ({ ...website(setting), ...publicLocation(setting) }),
  deletePublicLocation: publicLocation,
  searchLocations: ({ random }) =>
    sparse(
      {
        ...{ name: "x", address1: "x", address2: "x", city: plausibleText(random), region: "x", country: "x" },
        ...{ postalCode: "x", phone: "x", fax: "x", website: "https://example.org/", category: "x", tag: "x" },
      },
      random,
    ),
  searchUsers: ({ random }) =>
    sparse({ userName: "x", email: "x@y", firstName: "x", lastName: "x", gender: "Male" }, random),
  putManyMetadata: ({ random }) => ({
    values: Object.fromEntries(
      Array.from({ length: random.below(6) }, () => [
        plausibleText(random, 20),
        random.pick([1, "two", [3], { four: 4 }]),
      ]),
    ),
  }),
  incrementMetadata: (setting) => ({ ...counter(setting), delta: setting.random.pick([1, -2, 0.5, "3"]) }),
  deleteMetadata: counter,
  putMetadata: (setting) => ({ ...counter(setting), key: setting.random.pick(["level", "theme", "world"]) }),
  endTokenOfUser: ({ application, random }) => {
    const [userId, tokenId] = random.pick(application.tokens) ?? [];
    return { ...(userId !== undefined && { userId, tokenId }) };
  },
  getMetadata: counter,
  createMetricEvent: ({ random }) => ({ timeoutInSeconds: random.pick([undefined, 60, 3_600]) }),
  createMetricEvents: ({ random }) => ({
    events: Array.from({ length: 1 + random.below(8) }, () => ({
      key: random.pick(["level", "score"]),
      values: { world: random.pick(["one", "two", 3, true]), points: random.below(1_000) },
      timestamp: random.chance(0.5) ? Date.now() - random.below(1_000_000) : plausibleDate(random),
    })),
  }),
  createOperator: ({ random }) => ({
    name: `made ${random.word(10)}`,
    password: random.pick([undefined, `password-${random.word(8)}`]),
  }),
  changeOperator: ({ random }) => ({
    name: random.chance(0.3) ? `changed ${random.word(8)}` : undefined,
    password: random.chance(0.2) ? `password-${random.word(8)}` : undefined,
  }),
  changeOwnOperator: ({ caller, random }) => ({
    password: `password-${random.word(8)}`,
    currentPassword: caller?.kind === "operator" ? caller.password : "none",
  }),
  proveOperatorPassword: ({ caller }) => ({ password: caller?.kind === "operator" ? caller.password : "none" }),
  createOperatorSession: ({ world, random }) => {
    const { operatorName, password } = random.pick(world.operators) ?? world.root;
    return { name: operatorName, password };
  },
  listAudit: ({ random, application, world, operation }) =>
    sparse(
      {
        appid: application.appid,
        actor: random.pick(["cli", "nobody", "system", world.root.operatorId]),
        action: random.pick([operation.id, "createApplication", "loginUser", "deleteUser"]),
        target: application.appid,
        from: 0,
        to: Date.now(),
      },
      random,
    ),
  countAudit: ({ random, application }) =>
    sparse({ appid: application.appid, interval: random.pick(["hour", "day"]), refused: random.chance(0.5) }, random),
  createApplication: ({ random }) => ({ name: `Made ${random.word(8)}` }),
  changeApplication: ({ random }) => ({ name: `Renamed ${random.word(8)}` }),
  createWebhook: webhook,
  changeWebhook: webhook,
  repeatWebhookDelivery: ({ application, random }) => {
    const [webhookId, deliveryId] = random.pick(application.deliveries) ?? [];
    return { ...(webhookId !== undefined && { webhookId, deliveryId }) };
  },
  createApplicationKey: ({ random }) => ({ label: random.pick([undefined, `label ${random.word(5)}`]) }),
  deleteApplication: ({ application }) => ({ confirm: application.appid }),
  putSigningSecret: ({ random }) => ({ secret: random.pick([undefined, random.word(32)]) }),
  putApplicationSettings: settings,
  changeApplicationSettings: settings,
  searchOperatedUsers: ({ random }) => sparse({ userName: "x", email: "x@y", disabled: random.chance(0.5) }, random),
  searchApplication: anything,
  searchDeployment: anything,
  testMailSettings: ({ random }) => ({ to: `${random.word(8)}@fuzz.example` }),
  testOidcProvider: () => ({ provider: "google" }),
  sendPasswordReset: ({ random }) => ({ body: random.pick([undefined, "Your code: @ResetCode"]) }),
  searchOperatedDevices: ({ random }) => sparse({ uniqueId: "x", platform: "fuzz", tag: "x" }, random),
  readMetric: ({ random }) => ({
    key: random.pick(["level", "score"]),
    ...sparse({ value: random.pick(["world", "points"]), groupBy: "world", from: 0, to: Date.now() }, random),
    interval: undefined,
  }),
  listMetricEvents: ({ random }) => ({ key: "level", ...sparse({ from: 0, to: Date.now() }, random) }),
};

function publicLocation({ application, random }: Setting): Values {
  const locationId = random.pick(application.publicLocations);
  return locationId === undefined ? {} : { locationId };
}

/** A URL, which no other text is. */
function website({ random }: Setting): Values {
  return { website: random.pick([undefined, "https://example.org/", "http://[::1]:1/?q=ß"]) };
}

/** A call with a signature is authorized by that alone. */
function unsigned(): Values {
  return { application: undefined, expires: undefined, signature: undefined };
}

/** A key that probably exists, in a slot where the caller may write. */
/** A text of a search: an id, or the beginning of a name. */
function anything({ ids, random }: Setting): Values {
  return { q: random.pick([...ids("usr"), ...ids("dev"), "fuzz", "made", "%", plausibleText(random, 20)]) };
}

function counter({ caller, ids, random }: Setting): Values {
  const object = random.pick([...ids("chk"), ...ids("blb")]);
  const visibility = caller?.kind === "user" ? random.pick(["App", "User", undefined]) : "App";
  const shared = random.pick(["app", "app", "current"]);
  const id = visibility === "App" ? shared : random.pick(["me", "app", object ?? "me"]);
  return { id, key: `counter-${random.below(5)}`, visibility };
}

/** Nothing listens there, so that a test of it ends at once. */
function webhook({ random }: Setting): Values {
  return {
    url: "http://127.0.0.1:9/hook",
    types: random.pick([["*"], ["checkin.*", "user.deleted"]]),
    headers: random.pick([undefined, { "X-Shop": plausibleText(random, 5).replaceAll(/[^a-z]/gi, "") }]),
    timeoutMs: random.pick([undefined, 1_000]),
  };
}

/** Each filter is rare, because many filters together match nothing. */
function sparse(values: Values, random: Random): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, random.chance(0.15) ? value : undefined]),
  );
}

function settings({ random }: Setting): Values {
  const all: Values = {
    oidc: { google: { issuer: "https://a.example", audience: "b", jwksUrl: "https://a.example/keys" } },
    retention: { metricsDays: 30, crashReportsDays: 365 },
    quotas: { bytesPerUser: 1_000_000_000, filesPerUser: 100_000 },
    tokenLifetimes: { deviceMs: 86_400_000, userMs: 3_600_000 },
    disabledOperations: [random.pick(disabledOperations)],
    origins: ["https://app.example.com", "http://localhost:3000"],
    signedRequests: random.pick(["optional", "required"]),
    limits: { application: { perSecond: 500, burst: 5_000 }, operations: { "POST /checkins": { perSecond: 0.2 } } },
    mail: { from: "Fuzz <fuzz@fuzz.example>" },
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, random.chance(0.2) ? value : undefined]));
}
