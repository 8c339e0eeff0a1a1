/** Sends a request without a file or headers of the app. Of its response, only the status, `headers.get` and `text` are used. */
export type ExchangeText = (url: string, init: RequestInit) => Promise<Response>;

/** Used instead of `fetch` where there is one: the bundle for Node.js has `parts/node/exchange-text.ts` in place of this file. */
export const exchangeText: ExchangeText | false = false;
