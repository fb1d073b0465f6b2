// A webhook: what one path of a listener does with the requests that come to it, whichever platform sends them. The
// HTTP front knows these few words only.
//
// WH1  cheap refusals come first: method, announced size, headers that must be there. Then the body is read.
// WH2  a request is verified on its raw bytes before anything in it is read.
// WH3  2xx is said after the event is durable, or when there is nothing to keep.

export interface WebhookRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly remoteAddress: string;
  /** False where the body may be another than the one that was sent, so that it has to prove itself. */
  readonly isBodyExact: boolean;
  readonly requestId: string;
  readonly traceparent: string;
  /**
   * Takes room for the body, which is here, while its sender is not known yet: to be called before anything is waited for to
   * find that out. Gives the way to give it back; undefined when there is none.
   */
  holdBody(bytes: number): (() => void) | undefined;
}

export interface WebhookReply {
  readonly status: number;
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  /** An object is sent as JSON, text as text/plain; with a status from 400 on text is the message of an error body. */
  readonly body?: string | Readonly<Record<string, unknown>>;
}

export interface Webhook {
  readonly path: string;
  /** For 405 and its Allow. */
  readonly methods: ReadonlySet<string>;
  readonly maxBodyBytes: number;
  /** Refuses what needs no body to be refused. */
  admit(request: WebhookRequest): WebhookReply | undefined;
  /** Rejects with a GatewayError: the front answers its status, 503 for a store that cannot write. */
  receive(request: WebhookRequest, body: Buffer): Promise<WebhookReply>;
  /** Another wants the path. True when nobody is behind this one any more: it gives the path up and hears no more of it. */
  yieldPath?(): boolean;
}
