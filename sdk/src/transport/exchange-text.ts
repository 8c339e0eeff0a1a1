/** Sends a request without a file or custom headers. Callers use only `status`, `headers.get` and `text` of the response. */
export type ExchangeText = (url: string, init: RequestInit) => Promise<Response>;

/** The replacement for `fetch`, if any: the bundle for Node.js substitutes `parts/node/exchange-text.ts` for this file. */
export const exchangeText: ExchangeText | false = false;
