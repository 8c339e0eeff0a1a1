import { loadConfig } from "../server/src/config/config.ts";
import { settings } from "../server/src/config/settings.ts";
import { version } from "../server/src/config/version.ts";
import { conditionsOf } from "../server/src/contract/route.ts";
import { type ErrorCondition, errorCatalogue, errorRow } from "../server/src/lib/errors.ts";
import { metricCatalogue } from "../server/src/monitoring/catalogue.ts";
import { type DescribedApi, describeApi } from "../server/src/operations/openapi.ts";
import { renderSdkSources } from "./sdk-sources.ts";

/** The files that are generated from the code, by their path from the root; a test checks that they are up to date. */
export function renderPublished(api: DescribedApi): Readonly<Record<string, string>> {
  const { routes, endpoints } = api;
  const info = { version, serverUrl: "/", limits: loadConfig({}) };
  const forClients = renderDocument(describeApi(api, "clients", info));
  const forOperators = renderDocument(describeApi(api, "operators", info));
  return {
    "docs/build/errors.md": renderErrors([
      ...routes.map((route) => ({ operation: route.operation, conditions: conditionsOf(route) })),
      ...endpoints.flatMap(({ operations }) =>
        operations.map(({ operation, errors }) => ({ operation, conditions: errors })),
      ),
    ]),
    "docs/openapi.json": `${forClients}\n`,
    "docs/openapi.operators.json": `${forOperators}\n`,
    ...renderSdkSources(JSON.parse(forClients), JSON.parse(forOperators)),
    "docs/run/metrics.md": renderMetrics(),
    ".env.example": renderEnvironment(),
  };
}

const columnsMax = 140;

/** As JSON: a value that fits into a line is written on one, and so are lists of texts. */
function renderDocument(value: unknown, indent = ""): string {
  const inline = renderInline(value);
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === "string");
  if (isTexts || typeof value !== "object" || indent.length + inline.length <= columnsMax) return inline;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((each) => `${inner}${renderDocument(each, inner)}`)
    : Object.entries(value ?? {}).map(
        ([name, each]) => `${inner}${JSON.stringify(name)}: ${renderDocument(each, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

function renderInline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderInline).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${renderInline(each)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function renderMetrics(): string {
  const rows = Object.entries(metricCatalogue).map(([name, { type, labels, across, help }]) => {
    const kind = across === "sum" ? type : `${type}, ${across}`;
    return `| \`${name}\` | ${kind} | ${labels.join(", ")} | ${help} |`;
  });
  return `<!-- Written by "npm run docs" from server/src/monitoring/catalogue.ts. -->
# Metrics for Prometheus

The metrics of \`/_/prometheus\` (see [Monitoring](monitoring.md#prometheus)). Times are in seconds, sizes in bytes. Values of
several processes that are scraped as one are added, or the maximum or the first of them is taken, where the type says so.

| name | type | labels | what it is |
|---|---|---|---|
${rows.join("\n")}

Metrics that begin with \`process_\` and \`nodejs_\` (processor time, memory, open files, the delay of the event loop, garbage
collection) are those of [prom-client](https://github.com/siimon/prom-client).
`;
}

interface Operation {
  readonly operation: string;
  readonly conditions: readonly ErrorCondition[];
}

function renderErrors(operations: readonly Operation[]): string {
  const conditions = Object.keys(errorCatalogue) as ErrorCondition[]; // Object.keys forgets the key type
  const lines = conditions.map((condition) => {
    const { error, errorNumber, status, when, remedy } = errorRow(condition);
    return `| ${error} | ${errorNumber} | ${status} | ${when} | ${remedy} | ${operationsWith(condition, operations)} |`;
  });
  return `<!-- Written by "npm run docs" from server/src/lib/errors.ts. -->
# Errors

Every failure has this body; \`message\` is for people and can be absent, \`error\` and \`errorNumber\` are for programs.

\`\`\`json
{"status":403,"error":"AuthUserAccessTokenRequired","errorNumber":263,"request_id":"…","success":false}
\`\`\`

| error | errorNumber | status | when | what to do | operations |
|---|---|---|---|---|---|
${lines.join("\n")}
`;
}

function operationsWith(condition: ErrorCondition, operations: readonly Operation[]): string {
  const having = operations.filter(({ conditions }) => conditions.includes(condition));
  if (having.length === operations.length) return "all";
  if (having.length === 0) return "any other path or verb";
  return having.length > 6 ? "many" : having.map(({ operation }) => operation).join(", ");
}

function renderEnvironment(): string {
  const lines = settings.map(({ name, default: value, about }) => `# ${about}\n${name}=${quoted(value)}\n`);
  return `# Settings of the server, with their defaults. They are read from the environment, and from the file .env in
# the working directory. The environment takes precedence over the file, even with an empty value.
# Written by "npm run docs" from server/src/config/settings.ts.

${lines.join("\n")}`;
}

/** Quotes a value for the shell and systemd, only if it is necessary, because Docker keeps the quotes. */
function quoted(value: string): string {
  return /^[\w.,:/@=+-]*$/.test(value) ? value : `"${value.replaceAll(/["\\$`]/g, "\\$&")}"`;
}
