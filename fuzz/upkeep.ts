import type { Application, Client, Operator } from "./actors.ts";
import { createConnection } from "./connection.ts";
import { createSeeder, SeedingError } from "./seeding.ts";
import { seedUser, signUp } from "./seeding-users.ts";
import { createApplication, createOperator, registerDevice, type Seeding, setProvider, type World } from "./world.ts";

/** Replaces callers and sandboxes that calls have used up, while calls continue. */

const sandboxesMin = 5;
const usesMax = 300;

/** Whether there is a sandbox for operators. */
export function hasSandbox({ applications }: World): boolean {
  return applications.some(({ isSandbox, isAlive }) => isSandbox && isAlive);
}

/** Runs all replacements at once, each on its own connection; none is started twice. */
export function keepUp(world: World, { markers, random }: Seeding, port: number) {
  const jobs = [replaceOperators, replaceClients, buildSandboxes].map(
    (work): { work(): Promise<void>; running: Promise<void> | undefined } => {
      const seeding = { seeder: createSeeder(createConnection(port)), markers, random };
      return { work: () => work(world, seeding), running: undefined };
    },
  );
  return {
    begin(): void {
      for (const job of jobs) {
        job.running ??= job
          .work()
          .catch(tolerateRefusals)
          .finally(() => {
            job.running = undefined;
          });
      }
    },
    async idle(): Promise<void> {
      await Promise.all(jobs.map(({ running }) => running));
    },
  };
}

/** Retries, because concurrent calls may have deleted the objects that the replacement needs. */
function tolerateRefusals(error: unknown): void {
  if (!(error instanceof SeedingError)) throw error;
}

async function replaceOperators({ operators, root }: World, seeding: Seeding): Promise<void> {
  for (const [index, { isAlive, role }] of operators.entries()) {
    if (!isAlive) operators[index] = await createOperator(role, root, seeding);
  }
}

async function replaceClients({ clients }: World, seeding: Seeding): Promise<void> {
  for (const dead of clients.filter(({ isAlive }) => !isAlive)) {
    const other = dead.application.isSandbox ? [] : [await replacementOf(dead, seeding)];
    const index = clients.indexOf(dead);
    if (index !== -1) clients.splice(index, 1, ...other);
  }
}

async function replacementOf({ kind, application, name }: Client, seeding: Seeding): Promise<Client> {
  const device = await registerDevice(application, name, seeding);
  return kind === "user" ? signUp(device, name, seeding) : device;
}

/** Applications in which operators may change or delete anything. */
export async function buildSandboxes({ applications, clients, root, issuer }: World, seeding: Seeding): Promise<void> {
  for (const each of applications) if (each.isSandbox && each.uses > usesMax) each.isAlive = false;
  for (const dead of applications.filter(({ isSandbox, isAlive }) => isSandbox && !isAlive)) {
    applications.splice(applications.indexOf(dead), 1);
    for (const client of clients) if (client.application === dead) client.isAlive = false;
  }
  while (applications.filter(({ isSandbox }) => isSandbox).length < sandboxesMin) {
    const sandbox = await createApplication(`sandbox ${seeding.random.word(6)}`, root, seeding, { isSandbox: true });
    await setProvider(sandbox, issuer, root, seeding.seeder);
    await createWebhook(sandbox, root, seeding);
    const device = await registerDevice(sandbox, `the device of ${sandbox.name}`, seeding);
    const rich = await seedUser(device, `a user of ${sandbox.name}`, seeding);
    for (let n = 0; n < 4; n += 1) await signUp(device, `${n} of ${sandbox.name}`, seeding);
    const keys = await seeding.seeder.call(root, `GET /_/api/applications/${sandbox.appid}/keys`);
    for (const { id } of keys.pageResults) sandbox.all.add(id);
    const crashes = await seeding.seeder.call(root, `GET /_/api/applications/${sandbox.appid}/crashes`);
    for (const { fingerprint } of crashes.pageResults) sandbox.fingerprints.push(fingerprint);
    const locations = `POST /_/api/applications/${sandbox.appid}/locations`;
    for (let n = 0; n < 8; n += 1) {
      const { id } = await seeding.seeder.call(root, locations, { name: `public ${n}`, location: `${n},${n}` });
      sandbox.publicLocations.push(id);
    }
    clients.push(device, rich);
    applications.push(sandbox);
  }
  for (const each of applications) {
    if (each.isSandbox && each.isAlive && each.deliveries.length === 0) await learnDeliveries(each, root, seeding);
  }
}

async function createWebhook({ appid, all }: Application, root: Operator, { seeder }: Seeding): Promise<void> {
  const body = { url: "http://127.0.0.1:9/hook", types: ["*"] }; // nothing listens there
  const { id } = await seeder.call(root, `POST /_/api/applications/${appid}/webhooks`, body);
  all.add(id);
}

/** Deliveries follow the events of a sandbox by seconds. */
async function learnDeliveries({ appid, deliveries }: Application, root: Operator, { seeder }: Seeding): Promise<void> {
  const path = `GET /_/api/applications/${appid}/webhooks`;
  for (const { id: webhookId } of (await seeder.call(root, path)).pageResults) {
    const { pageResults } = await seeder.call(root, `${path}/${webhookId}/deliveries`);
    for (const { id } of pageResults) deliveries.push([webhookId, id]);
  }
}
