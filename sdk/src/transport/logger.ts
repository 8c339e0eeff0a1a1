/** Fields are an operation, a status, a request id, an attempt and times; never secrets or user data. */
export type LogFields = Readonly<Record<string, string | number | undefined>>;

/** The destination of the client's log. */
export interface Logger {
  debug(message: string, fields: LogFields): void;
  info(message: string, fields: LogFields): void;
  warn(message: string, fields: LogFields): void;
  error(message: string, fields: LogFields): void;
}

const ignore = () => {};

/** Warnings and errors only. */
export const consoleLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (message, fields) => console.warn(message, fields),
  error: (message, fields) => console.error(message, fields),
};
