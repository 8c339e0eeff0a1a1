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
  readonly send: typeof sendFile;
}

/** Browsers send no streams over HTTP/1.1, and some send none at all. */
const isBrowser = () => typeof location === "object";

/** Sends an upload, and reports how many bytes of it have been sent. */
async function sendFile(
  url: string,
  upload: Upload,
  onProgress: ((done: number) => void) | undefined,
  ownFetch: typeof fetch | undefined,
): Promise<Response> {
  let { body } = upload;
  if (isBrowser() && !(body instanceof Blob)) body = await new Response(body).blob();
  if (onProgress && body instanceof Blob && !ownFetch && typeof XMLHttpRequest === "function")
    return sendByXhr(url, upload, body, onProgress);
  if (onProgress && !isBrowser()) {
    let done = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        done += chunk.byteLength;
        onProgress(done);
        controller.enqueue(chunk);
      },
    });
    body = (body instanceof Blob ? body.stream() : body).pipeThrough(count);
  }
  return (ownFetch ?? fetch)(url, { ...upload, body });
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
      reject(new TypeError("the upload failed")); // unless it has loaded
    };
    request.send(body);
  });
}

export const uploads: Uploads = { build: buildForm, send: sendFile };
