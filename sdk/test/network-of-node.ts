import { exchangeText } from "../src/parts/node/exchange-text.ts";

/** Sends like the client in Node.js: files and requests with custom headers through `fetch`, all others over `node:http`. */
export const networkOfNode: typeof fetch = async (input, init = {}) => {
  const isText = init.redirect === "manual" && (init.body === undefined || typeof init.body === "string");
  if (!isText) return fetch(input, init);
  const response = await exchangeText(`${input}`, init);
  let text: Promise<string> | undefined;
  const read = () => {
    text ??= response.text();
    return text;
  };
  const { status, headers } = response;
  const ok = status >= 200 && status < 300;
  const whole = { status, ok, headers, url: `${input}`, text: read, json: async () => JSON.parse(await read()) };
  return Object.assign(whole, { clone: () => whole }) as unknown as Response;
};
