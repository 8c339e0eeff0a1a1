import { whenAborted } from "../lib/wait.ts";
import { buildForm } from "./form.ts";

/** The request of an upload. */
export interface Upload {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob | ReadableStream<Uint8Array>;
  readonly signal: AbortSignal;
}

/** How files are uploaded. A client without uploads, such as that of operators, does not ship it. */
export interface Uploads {
  readonly build: typeof buildForm;
  readonly send: typeof sendWatched;
}

/** Sends an upload, and reports how many bytes of it have been sent. */
function sendWatched(
  url: string,
  upload: Upload,
  onProgress: (done: number) => void,
  ownFetch: typeof fetch | undefined,
): Promise<Response> {
  const { body } = upload;
  if (body instanceof Blob && !ownFetch && typeof XMLHttpRequest === "function")
    return sendByXhr(url, upload, body, onProgress);
  let done = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      done += chunk.byteLength;
      onProgress(done);
      controller.enqueue(chunk);
    },
  });
  const counted = (body instanceof Blob ? body.stream() : body).pipeThrough(count);
  return (ownFetch ?? fetch)(url, { ...upload, body: counted });
}

/** Browsers report the progress of an upload only here. */
function sendByXhr(
  url: string,
  { method, headers, signal }: Upload,
  body: Blob,
  onProgress: (done: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const name in headers) request.setRequestHeader(name, `${headers[name]}`);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      const lines = request.getAllResponseHeaders().matchAll(/^(.+?): ?(.*)$/gm);
      const answered = Array.from(lines, ([, name = "", value = ""]): [string, string] => [name, value]);
      resolve(new Response(request.responseText, { status: request.status, headers: answered }));
    };
    const release = whenAborted(signal, () => request.abort());
    request.onloadend = () => {
      release();
      reject(new TypeError("the upload has failed")); // unless it has loaded
    };
    request.send(body);
  });
}

export const uploads: Uploads = { build: buildForm, send: sendWatched };
