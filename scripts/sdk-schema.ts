/** The parts of a parameter of an OpenAPI document that the client is generated from. */
export interface ApiParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
}

/** The same of a schema. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly required?: readonly string[];
  readonly items?: ApiSchema;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly oneOf?: readonly ApiSchema[];
  readonly allOf?: readonly ApiSchema[];
  readonly additionalProperties?: ApiSchema | boolean;
}

/** A comment of TSDoc from the parts of a description. */
export function renderComment(parts: readonly (string | undefined)[], indent = ""): string {
  const text = parts.filter((part) => part !== undefined && part !== "").join("\n\n");
  if (text === "") return "";
  const lines = text.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("")}${indent} */\n`;
}
