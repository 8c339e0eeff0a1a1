import type { Api } from "../api.ts";
import { Counter } from "../ledger.ts";
import type { Work, Writer } from "../writer.ts";

const eventsAtOnce = 7;

/** Sends single events, and several at once: each is counted exactly once, and those of one request together. */
export const writeMetrics: Writer = (work, { deviceToken: token }) => {
  const { ledger, newName } = work;
  const [one, many] = [`one-${newName()}`, `many-${newName()}`];
  const single = new Counter(ledger, `metric ${one}`, 1, (api) => readCount(api, work, one));
  const several = new Counter(ledger, `metric ${many}`, eventsAtOnce, (api) => readCount(api, work, many));
  const events = Array.from({ length: eventsAtOnce }, (_, n) => ({ key: many, values: { n } }));
  return async (api) => {
    await single.add(() => api.call(`POST /metrics/events/${one}`, { token, body: { value: 1 } }));
    await several.add(() => api.call("POST /metrics/events", { token, body: { events } }));
  };
};

async function readCount(api: Api, { application, operatorToken }: Work, key: string): Promise<number> {
  const { body } = await api.call(`GET /_/api/applications/${application.appid}/metrics`, { token: operatorToken });
  const metrics: { key: string; count: number }[] = body.result.pageResults;
  return metrics.find((metric) => metric.key === key)?.count ?? 0;
}
