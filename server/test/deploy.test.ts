// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { loadConfig } from "../src/config/config.ts";
import { settings } from "../src/config/settings.ts";
import { metricCatalogue } from "../src/monitoring/catalogue.ts";
import { filesBelow, readText, root } from "./documents.ts";

/** The files in deploy/ name existing settings, ports and paths, and consistent times. */

/** Settings that operators add: the secrets of `docs/run/kubernetes.md`. */
const secrets = {
  DATABASE_URL: "postgres://rollcall:password@postgres/rollcall",
  ROLLCALL_SECRET: "a secret of sixteen characters",
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "key",
};
const settingNames = new Set(settings.map(({ name }) => name));
const config = loadConfig({ DATABASE_URL: secrets.DATABASE_URL, ROLLCALL_SECRET: secrets.ROLLCALL_SECRET });
const { paths: servedPaths } = JSON.parse(readText("docs/openapi.json"));
const healthPaths = Object.keys(servedPaths).filter((path) => path.startsWith("/_/health/"));

const dockerfile = readText("deploy/Dockerfile");
const haproxy = readText("deploy/haproxy.cfg");
const compose = parse(readText("deploy/compose.yaml"), { merge: true });
const manifests = filesBelow("deploy/kubernetes").map((file) => ({ file, content: parse(readText(file)) }));
const deployment = findManifest("Deployment").spec.template.spec;
const job = findManifest("Job").spec.template.spec;
const [container] = deployment.containers;

function findManifest(kind: string) {
  const found = manifests.find(({ content }) => content.kind === kind);
  assert.ok(found, kind);
  return found.content;
}

/** Lists the values of all members with this name, at any depth. */
function valuesOf(name: string, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [...(key === name ? [each] : []), ...valuesOf(name, each)]);
}

/** Builds the environment of a container as Kubernetes does. */
function environmentOf({ env }: { env: readonly { name: string; value: string }[] }): Record<string, string> {
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  return { ...findManifest("ConfigMap").data, ...secrets, ...own };
}

function numberIn(text: string, pattern: RegExp): number {
  const [, digits] = pattern.exec(text) ?? [];
  assert.ok(digits, `${pattern}`);
  return Number(digits);
}

describe("deploy/", () => {
  it("sets only settings that exist, to values that the server accepts", () => {
    const image = [...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? "").matchAll(/(\w+)=/g)].map(([, name]) => name);
    const created = [...readText("docs/run/kubernetes.md").matchAll(/--from-literal=(\w+)=/g)];
    const names = [
      ...image.filter((name) => name !== "NODE_ENV"),
      ...Object.keys(compose.services.rollcall.environment),
      ...Object.keys(environmentOf(container)),
      ...Object.keys(environmentOf(job.containers[0])),
    ];
    assert.deepEqual(
      names.filter((name) => name === undefined || !settingNames.has(name)),
      [],
    );
    assert.deepEqual(created.map(([, name]) => name).sort(), Object.keys(secrets).sort());
    assert.equal(loadConfig(environmentOf(container)).port, container.ports[0].containerPort);
    assert.equal(loadConfig(environmentOf(job.containers[0])).filesUrl, findManifest("ConfigMap").data.FILES_URL);
  });

  it("alerts on metrics that exist", () => {
    const { groups } = parse(readText("deploy/prometheus-alerts.yml"));
    const rules: readonly { alert: string; expr: string }[] = groups[0].rules;
    assert.ok(rules.length > 10);
    for (const { alert, expr } of rules) {
      for (const [name] of expr.matchAll(/rollcall_\w+/g)) {
        const metric = name.replace(/_(?:bucket|sum|count)$/, "");
        assert.ok(Object.hasOwn(metricCatalogue, metric), `${alert}: ${name}`);
      }
    }
  });

  it("uses the port that the image listens on", () => {
    assert.equal(numberIn(dockerfile, /^EXPOSE (\d+)$/m), config.port);
    for (const mapping of compose.services.rollcall.ports) assert.ok(mapping.endsWith(`:${config.port}`), mapping);
    const [port] = findManifest("Service").spec.ports;
    assert.equal(port.targetPort, container.ports[0].name);
    for (const probe of valuesOf("httpGet", container)) {
      assert.deepEqual(valuesOf("port", probe), [container.ports[0].name]);
    }
  });

  it("checks the health at paths that the server has", () => {
    const paths = [...valuesOf("httpGet", container).flatMap((probe) => valuesOf("path", probe))];
    const [, checked = ""] = /^\s*http-check send .*uri (\S+)/m.exec(haproxy) ?? [];
    assert.deepEqual(new Set([...paths, checked]), new Set(healthPaths));
    assert.equal(checked, container.readinessProbe.httpGet.path);
  });

  it("waits longer for the exit of a process than the process waits for its requests", () => {
    const graceSeconds = config.shutdownGraceMs / 1000;
    const [, preStop] = container.lifecycle.preStop.exec.command;
    assert.ok(deployment.terminationGracePeriodSeconds > Number(preStop) + graceSeconds);
    assert.ok(numberIn(compose.services.rollcall.stop_grace_period, /^(\d+)s$/) > graceSeconds);
    assert.ok(numberIn(readText("deploy/rollcall.service"), /^TimeoutStopSec=(\d+)$/m) > graceSeconds);
  });

  it("the proxy closes idle connections before the server does, and gives a request as much time to arrive", () => {
    assert.ok(numberIn(haproxy, /timeout http-keep-alive (\d+)s/) < config.keepAliveTimeoutMs / 1000);
    assert.equal(numberIn(haproxy, /timeout http-request (\d+)s/), config.requestTimeoutMs / 1000);
    assert.ok(numberIn(haproxy, /tune\.bufsize (\d+)/) > config.headerBytesMax);
  });

  it("selects the pods of the Deployment, and includes every manifest", () => {
    const labels = findManifest("Deployment").spec.template.metadata.labels;
    assert.deepEqual(findManifest("Service").spec.selector, labels);
    for (const kind of ["Deployment", "PodDisruptionBudget"]) {
      assert.deepEqual(findManifest(kind).spec.selector.matchLabels, labels);
    }
    const listed = manifests.flatMap(({ file, content }) =>
      content.kind === "Kustomization" ? content.resources.map((name: string) => join(dirname(file), name)) : [],
    );
    const files = manifests.filter(({ content }) => content.kind !== "Kustomization").map(({ file }) => file);
    assert.deepEqual(listed.sort(), files.sort());
  });

  it("the image is built from files that exist and that .dockerignore does not exclude", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = ""]) =>
      names.split(" "),
    );
    const allowed = readText(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    assert.ok(copied.length > 0);
    const { extends: base } = JSON.parse(readText("console/tsconfig.json"));
    assert.ok(copied.includes(join("console", base)), "the build of the console reads it");
    for (const name of copied) {
      assert.ok(existsSync(join(root, name)), name);
      assert.ok(
        allowed.some((path) => name === path || name.startsWith(`${path}/`)),
        `.dockerignore keeps out ${name}`,
      );
    }
  });
});
