import { ApiError } from "../lib/errors.ts";
import type { FindOperation } from "../operations/dispatch.ts";
import type { Operation } from "../operations/operations.ts";
import type { Exchange } from "./exchange.ts";
import { createPathTree, type PathTree, readPath } from "./path-tree.ts";

/** The target of the requests of a path and verb. */
export interface Target {
  /** The operation name in the log; undefined for a page. */
  readonly name?: string;
  /** Undefined for a target that a batch cannot contain. */
  readonly operation?: Operation;
  /** True when `answer` reads the body itself. */
  readonly readsBody?: boolean;
  /** Answered over plain HTTP, even when HTTPS is required. */
  readonly allowsPlainHttp?: boolean;
  /** Does not exist for addresses that OPERATOR_ADDRESSES leaves out. */
  readonly isForOperators?: boolean;
  /** Limits its requests itself, or is for monitors. */
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

/** All paths and verbs that the service answers, for requests and for the items of a batch. */
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
  /** The targets of a path with any verb. @throws ApiError as `find` */
  verbsOf(url: string): readonly { readonly method: string; readonly target: Target }[];
  readonly findOperation: FindOperation;
}

/** @param headerBytesMax the bound of a path */
export function createRouteTable(headerBytesMax: number): RouteTable {
  const trees = new Map<string, PathTree<Target>>();
  function find(method: string, url: string): FoundTarget | undefined {
    const read = readPath(url); // checked whatever the verb is
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
    verbsOf: (url) =>
      [...trees.keys()].flatMap((method) => {
        const found = find(method, url);
        return found === undefined ? [] : [{ method, target: found.target }];
      }),
    findOperation(method, url) {
      const found = find(method, url);
      const operation = found?.target.operation;
      return found && operation && { operation, path: found.path, query: found.query };
    },
  };
}
