import type { Call, StoredUpload, UploadedPart } from "./contract/call.ts";
import type { FileResult } from "./contract/file-result.ts";
import {
  type CallerKind,
  type CallerOf,
  type Handled,
  type Route,
  type RouteInput,
  type RouteInterface,
  route,
  type SignedInput,
} from "./contract/route.ts";
import type { ObjectSchema, Schema, Static } from "./contract/schema.ts";
import type { Services } from "./services.ts";

/** Declares one operation: its interface, and the handler that gets the services of the process. */
interface OperationDeclaration<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload,
> extends RouteInterface<Kind, Path, Parameters, Result> {
  /** See `RouteDeclaration.upload`. */
  readonly upload?: {
    store(caller: CallerOf<Kind>, part: UploadedPart, call: Call, services: Services): Promise<File>;
  };
  /** See `RouteDeclaration.download`. */
  readonly download?: {
    handleSigned(input: SignedInput<Static<Path>, Static<Parameters>>, services: Services): Promise<FileResult>;
  };
  handle(
    input: RouteInput<Kind, Static<Path>, Static<Parameters>, File>,
    services: Services,
  ): Promise<Handled<Static<Result>>>;
}

/** An operation that can be served once it has its services. */
export type Operation = (services: Services) => Route;

/** Declares an operation; the types of the handler's input and result are inferred from the schemas. */
export function operation<
  Kind extends CallerKind,
  Path extends ObjectSchema,
  Parameters extends ObjectSchema,
  Result extends Schema,
  File extends StoredUpload = StoredUpload,
>({ upload, download, handle, ...declared }: OperationDeclaration<Kind, Path, Parameters, Result, File>): Operation {
  return (services) =>
    route<Kind, Path, Parameters, Result, File>({
      ...declared,
      ...(upload && { upload: { store: (caller, part, call) => upload.store(caller, part, call, services) } }),
      ...(download && { download: { handleSigned: (input) => download.handleSigned(input, services) } }),
      handle: (input) => handle(input, services),
    });
}
