import { serviceRoot } from "../lib/service-root.ts";
import type { AppCall } from "./explorer.calls.ts";

/** The call for a shell. */
export function curlOf({ method, path, headers, body }: AppCall): string {
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quoted(serviceRoot() + path)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${headerOf(name, value)}`),
    ...(typeof body === "string" ? [`-d ${quoted(body)}`] : []),
    ...(body instanceof FormData ? [...body].map(([name, value]) => `-F ${quoted(partOf(name, value))}`) : []),
  ];
  return lines.join(" \\\n  ");
}

/** The shell fills in the variable with the token. */
function headerOf(name: string, value: string): string {
  return value.endsWith("$TOKEN") ? `"${name}: ${value}"` : quoted(`${name}: ${value}`);
}

function partOf(name: string, value: FormDataEntryValue): string {
  return typeof value === "string" ? `${name}=${value}` : `${name}=@${value.name}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The call in JavaScript. */
export function fetchOf({ method, path, headers, body }: AppCall): string {
  const options = [
    `  method: ${JSON.stringify(method)},`,
    `  headers: ${JSON.stringify(headers, undefined, 2).replaceAll("\n", "\n  ")},`,
    ...(typeof body === "string" ? [`  body: ${JSON.stringify(body)},`] : []),
    ...(body instanceof FormData ? ["  body: form, // a FormData with the file"] : []),
  ];
  return `await fetch(${JSON.stringify(serviceRoot() + path)}, {\n${options.join("\n")}\n});`;
}
