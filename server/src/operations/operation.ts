import type { Call, StoredUpload, UploadedPart } from "../contract/call.ts";
import type { FileResult } from "../contract/file-result.ts";
import {
  type Caller,
  type CallerKind,
  type CallerOf,
  type Handled,
  isResult,
  type Route,
  type RouteInput,
  type RouteInterface,
  route,
  type SignedInput,
  type TicketRule,
} from "../contract/route.ts";
import type { ObjectSchema, Schema, Static } from "../contract/schema.ts";
import type { Services } from "./services.ts";

/** Declares one operation: its interface, and a handler that receives the services of the process. */
interface OperationDeclaration<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload,
  Needs,
> extends RouteInterface<Kind, Path, Parameters, Result> {
  /** See `RouteDeclaration.upload`. */
  readonly upload?: {
    store(caller: CallerOf<Kind>, part: UploadedPart, call: Call, services: Needs): Promise<File>;
  };
  /** See `RouteDeclaration.download`. */
  readonly download?: {
    handleSigned(input: SignedInput<Static<Path>, Static<Parameters>>, services: Needs): Promise<FileResult>;
  };
  /** See `RouteDeclaration.ticket`. */
  readonly ticket?: {
    open(ticket: string, services: Needs): Promise<Caller>;
    busy(): ReturnType<TicketRule["busy"]>;
  };
  handle(
    input: RouteInput<Kind, Static<Path>, Static<Parameters>, File>,
    services: Needs,
  ): Promise<Handled<Static<Result>>>;
}

/**
 * Creates a route from services. Operations that commands also run need only `CommandServices`.
 *
 * @param onResult receives each result of the handler, for an internal caller
 */
export type Operation<Result = unknown, Needs = Services> = (
  services: Needs,
  onResult?: (result: Result) => void,
) => Route;

/** Declares an operation; the types of the handler's input and result are inferred from the schemas. */
export function operation<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload = StoredUpload,
  Needs = Services,
>({
  upload,
  download,
  ticket,
  handle,
  ...declared
}: OperationDeclaration<Kind, Path, Parameters, Result, File, Needs>): Operation<Static<Result>, Needs> {
  return (services, onResult) =>
    route<Kind, Path, Parameters, Result, File>({
      ...declared,
      ...(upload && { upload: { store: (caller, part, call) => upload.store(caller, part, call, services) } }),
      ...(download && { download: { handleSigned: (input) => download.handleSigned(input, services) } }),
      ...(ticket && { ticket: { ...ticket, open: (text) => ticket.open(text, services) } }),
      handle:
        onResult === undefined
          ? (input) => handle(input, services)
          : async (input) => {
              const handled = await handle(input, services);
              if (isResult(handled)) onResult(handled);
              return handled;
            },
    });
}
