import { ApiError } from "../lib/errors.ts";
import type { FindOperation, VerbsOf } from "../operations/dispatch.ts";
import type { BoundOperation } from "../operations/perform.ts";
import type { Exchange } from "./exchange.ts";

/** Answers the requests for a path and verb. */
export interface Target {
  /** The operation name in the log; undefined for a page. */
  readonly name?: string;
  /** Undefined for a target that a batch cannot contain. */
  readonly operation?: BoundOperation;
  /** True when `answer` reads the body itself. */
  readonly readsBody?: boolean;
  /** Whether it answers over plain HTTP even with REQUIRE_HTTPS. */
  readonly allowsPlainHttp?: boolean;
  /** Whether it is hidden from addresses outside of OPERATOR_ADDRESSES. */
  readonly isForOperators?: boolean;
  /** Whether the rate limit of unauthenticated requests does not apply: it has its own, or is for monitors. */
  readonly isUnlimited?: boolean;
  /** Identifies the caller, before the body is read. @throws ApiError */
  accept?(exchange: Exchange): void | Promise<void>;
  /** Sends another response than the envelope. @returns false if it has none for this failure */
  refuse?(exchange: Exchange, failure: ApiError): boolean;
  /** Sends the response. @throws ApiError */
  answer(exchange: Exchange): void | Promise<void>;
}

export interface FoundTarget {
  readonly target: Target;
  /** The path parameters, unescaped, by their names in the declared path. */
  readonly path: Readonly<Record<string, string>>;
  /** The query, as sent. */
  readonly query: string;
}

type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The paths and verbs of the service, for requests and for the items of a batch. */
export interface RouteTable {
  /** @param path with its parameters in braces */
  add(methods: readonly Method[], path: string, target: Target): void;
  /**
   * Trailing and duplicate slashes are ignored (spec/transport#paths-and-verbs).
   *
   * @param url a path with its query, or an absolute URL
   * @returns undefined for an unknown path or verb
   * @throws ApiError ParameterIncorrectFormat when the escapes of the path are not UTF-8
   */
  find(method: string, url: string): FoundTarget | undefined;
  readonly findOperation: FindOperation;
  readonly verbsOf: VerbsOf;
}

/** @param headerBytesMax the maximal length of a path */
export function createRouteTable(headerBytesMax: number): RouteTable {
  const trees = new Map<string, PathTree<Target>>();
  function find(method: string, url: string): FoundTarget | undefined {
    const read = readPath(url); // before the verb, so that an invalid path is reported for any verb
    if (read === undefined) throw new ApiError("ParameterIncorrectFormat", "The path is not valid UTF-8.");
    const found = trees.get(method)?.find(read.path, read.isEscaped);
    return found && { target: found.target, path: found.parameters, query: read.query };
  }
  return {
    add(methods, path, target) {
      for (const method of methods) {
        const tree = trees.get(method) ?? createPathTree(headerBytesMax);
        trees.set(method, tree);
        tree.add(path, target);
      }
    },
    find,
    verbsOf: (url, mayOperate) =>
      [...trees.keys()].filter((method) => {
        const target = find(method, url)?.target;
        return target !== undefined && (mayOperate || target.isForOperators !== true);
      }),
    findOperation(method, url) {
      const found = find(method, url);
      const operation = found?.target.operation;
      return found && operation && { operation, path: found.path, query: found.query };
    },
  };
}

/** The targets of one verb, by their paths. */
interface PathTree<T> {
  /**
   * @param path its segments may be parameters in braces, and the last may be `*`, which matches one or more segments
   */
  add(path: string, target: T): void;
  /**
   * Compares the path segment by segment and prefers a fixed segment to a parameter, and a parameter to `*`.
   *
   * @param path from `readPath`
   */
  find(path: string, isEscaped: boolean): FoundPath<T> | undefined;
}

interface FoundPath<T> {
  readonly target: T;
  /** The parameters, unescaped, by their names. The segments that `*` matches have the name `*`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The normalized path of a request. */
interface ReadPath {
  /** Unescaped except for reserved characters of URLs; without trailing and duplicate slashes. */
  readonly path: string;
  /** Whether the path was sent with escapes. */
  readonly isEscaped: boolean;
  /** The query, as sent. */
  readonly query: string;
}

/** A segment, and the segments that may follow it. */
interface Node<T> {
  readonly segment: string;
  /** The first character codes of `fixed`, because comparing numbers is cheaper than hashing a substring. */
  readonly fixedCodes: number[];
  readonly fixed: Node<T>[];
  parameter: Node<T> | undefined;
  rest: Leaf<T> | undefined;
  leaf: Leaf<T> | undefined;
}

interface Leaf<T> {
  readonly target: T;
  readonly names: readonly string[];
}

/** @param parameterCharsMax a longer parameter matches no route */
export function createPathTree<T>(parameterCharsMax: number): PathTree<T> {
  const root = newNode<T>("");

  /** @param values receives the values of the parameters */
  function find(node: Node<T>, path: string, start: number, isEscaped: boolean, values: string[]): Leaf<T> | undefined {
    if (start >= path.length) return node.leaf;
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    const fixed = findFixed(node, path, start, end);
    const found = fixed && find(fixed, path, end + 1, isEscaped, values);
    if (found !== undefined) return found;
    if (node.parameter !== undefined) {
      const value = unescapeValue(path.slice(start, end), isEscaped);
      if (value.length <= parameterCharsMax) {
        values.push(value);
        const found = find(node.parameter, path, end + 1, isEscaped, values);
        if (found !== undefined) return found;
        values.pop();
      }
    }
    if (node.rest !== undefined) values.push(unescapeValue(path.slice(start), isEscaped));
    return node.rest;
  }

  return {
    add(path, target) {
      const segments = path.split("/").filter((each) => each !== "");
      const names = segments.flatMap((segment) => (segment === "*" ? segment : (nameOf(segment) ?? [])));
      let node = root;
      for (const segment of segments.filter((each) => each !== "*")) {
        if (nameOf(segment) === undefined) node = getFixed(node, segment);
        else node = node.parameter ??= newNode(segment);
      }
      const place = segments.at(-1) === "*" ? "rest" : "leaf";
      if (node[place] !== undefined) throw new Error(`two routes at ${path}`);
      node[place] = { target, names };
    },
    find(path, isEscaped) {
      if (!path.startsWith("/")) return undefined;
      const values: string[] = [];
      const leaf = find(root, path, 1, isEscaped, values);
      if (leaf === undefined) return undefined;
      const parameters = new Parameters();
      for (let index = 0; index < values.length; index += 1) parameters[leaf.names[index] ?? ""] = values[index] ?? "";
      return { target: leaf.target, parameters };
    },
  };
}

function findFixed<T>({ fixedCodes, fixed }: Node<T>, path: string, start: number, end: number): Node<T> | undefined {
  const code = path.charCodeAt(start);
  for (let index = 0; index < fixedCodes.length; index += 1) {
    if (fixedCodes[index] !== code) continue;
    const node = fixed[index];
    if (node?.segment.length === end - start && path.startsWith(node.segment, start)) return node;
  }
  return undefined;
}

function getFixed<T>(node: Node<T>, segment: string): Node<T> {
  const found = node.fixed.find((each) => each.segment === segment);
  if (found !== undefined) return found;
  const added = newNode<T>(segment);
  node.fixedCodes.push(segment.charCodeAt(0));
  node.fixed.push(added);
  return added;
}

function newNode<T>(segment: string): Node<T> {
  return { segment, fixedCodes: [], fixed: [], parameter: undefined, rest: undefined, leaf: undefined };
}

function unescapeValue(value: string, isEscaped: boolean): string {
  return isEscaped ? decodeURIComponent(value) : value;
}

/**
 * @param url a path with its query, or an absolute URL
 * @returns undefined if the URL is invalid, or the escapes of its path are not UTF-8
 */
export function readPath(url: string): ReadPath | undefined {
  const relative = url.startsWith("/") ? url : pathOfAbsolute(url);
  if (relative === undefined) return undefined;
  const queryAt = firstOf(relative.indexOf("?"), relative.indexOf("#"));
  const sent = queryAt === -1 ? relative : relative.slice(0, queryAt);
  const query = queryAt === -1 ? "" : relative.slice(queryAt + 1);
  const isEscaped = sent.includes("%");
  const path = isEscaped ? unescapePath(sent) : sent;
  return path === undefined ? undefined : { path: withoutNeedlessSlashes(path), isEscaped, query };
}

function firstOf(a: number, b: number): number {
  return a === -1 || (b !== -1 && b < a) ? b : a;
}

/** Does not unescape slashes, percent signs and other reserved characters, because they may be part of a parameter. */
function unescapePath(path: string): string | undefined {
  try {
    return decodeURI(path.replaceAll("%25", "%2525"));
  } catch {
    return undefined;
  }
}

function withoutNeedlessSlashes(path: string): string {
  const single = path.includes("//") ? path.replaceAll(/\/{2,}/g, "/") : path;
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

/** @returns `url` if it is not absolute */
function pathOfAbsolute(url: string): string | undefined {
  const [origin, rest = ""] = /^https?:\/\/[^/?]+(.*)$/i.exec(url)?.values() ?? [];
  if (origin === undefined) return /^https?:\/\//i.test(url) ? undefined : url;
  if (url.includes("#") || !URL.canParse(url)) return undefined;
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function nameOf(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1];
}

/** Creates objects without inherited properties. V8 reads them faster than the objects of `Object.create(null)`. */
const Parameters = function Parameters() {} as unknown as new () => Record<string, string>;
Parameters.prototype = Object.create(null);
